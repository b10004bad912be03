/*
 * The plan of a tick, and what becomes of the rows of one task until they have ended.
 *
 * A model of:
 *   plan       plan.Open; state.Plan.Reclaim, state.Plan.Add, state.TakeIntoPlan,
 *              state.Plan.Commit
 *   tick       tick.launcher.prepare, state.Owned.Begin, state.GiveBack, mutex.Files.Acquire,
 *              holding.Storage.GoesOn
 *   give       handover.Supervisors.Begin, handover.Supervisors.HandOver,
 *              ownrow.Row.Take
 *   collect    run.Caller.Collect, run.take, state.Take, run.EndUnwatched
 *   conclude   run.Finish, state.Owned.HookBegun, state.Owned.HookEnded, state.End
 *   supervise  supervise.supervisor.supervise, state.Start, state.AwaitRetry,
 *              state.Defer, state.Settle
 *   sup        supervise.Background, with takeOver when the witness took its place
 *   fin        handover.startFinish, handover.Finish
 *
 * Tick 0 is of minute 1, tick 2 of minute 2. A task that must not overlap itself is due in both
 * minutes. KILLS processes are killed, at any step. When all is quiet, a last tick comes that is
 * not killed. A step of the model is what one transaction, one fork or one call of the kernel does.
 * A kill comes between two steps.
 *
 * It is checked that each slot has one outcome, and one in the end; that no command starts twice
 * for one attempt; that no two commands live at once; that a command has ended when its row has;
 * and that each hook fires, and fires again only after a kill.
 *
 * Left out: what SQLite and flock(2) do themselves; a database that cannot be written or is lost;
 * clocks that are set; several missed slots in one row; runs by hand, chains, timeouts and stops;
 * waiting for a mutex, and pools (wait.pml); the store (claim.pml, lease.pml); a machine that
 * restarts.
 *
 * -DTWICE: a second tick of minute 1, as if a crontab had two lines. -DFOREGROUND: the tick
 * supervises. -DSTORE_WAITS: a slot may wait for the store. -DRETRIES=1: an attempt may fail, and
 * the next one starts at once or in a later tick. -DQUEUES: a run may wait for its mutex in the
 * queue of its process.
 */
#ifndef KILLS
#define KILLS 2
#endif
#ifndef SLOTS
#define SLOTS 2
#endif
#ifndef TICKS
#define TICKS 3
#endif
#ifndef RETRIES
#define RETRIES 0
#endif
#define LAST TICKS /* the last tick */
#define NOBODY 31
#define SUP(t) (TICKS + 1 + (t)) /* owners: a tick, its supervisor, the finish of a slot */
#define FIN(s) (2 * TICKS + 1 + (s))
#define OWNERS (2 * TICKS + 4)

mtype = { NONE, WAITING, PLANNED, READY, RUNNING, FINISHING, ENDED }
mtype = { OPEN, MISSED, SKIPPED, RAN, LOST }
mtype = { NOT_YET, LIVES, OVER }

/* The rows. Slot s is due in minute s, and its row has the number s. */
mtype phase[3] = NONE, outcome[3] = OPEN;
byte owner[3] = NOBODY, tries[3], covered;
bool waits[3], hookEnded[3]; /* waits: for what it waited stays noted while it is planned */
byte attempt[3];             /* of the first attempt 0 */
bool queued[3];              /* it waits for the mutex, in the queue of its process */

/* The kernel: processes, and which of them have the file of the mutex open. */
mtype cmd[3] = NOT_YET;
bool live[OWNERS], supKilled[TICKS + 1], tickOver[TICKS + 1], forked[3];
bool given[3];
#define H_TICK 1
#define H_SUP 2
#define H_FIN 4
#define H_CMD 8
byte lock[3], heldBy[3], last; /* last: the holder that the file names */

/* What only the checks know. */
byte kills, starts[3], fired[3];
bool quiet;

#ifdef TRACE
#include "trace.pml"
#else
#define EVENT(s, what)
#define SOON(what) true
#endif
#ifdef FOREGROUND
#define BACKGROUND 0
#else
#define BACKGROUND 1
#endif

#define DEAD(o) (o != NOBODY && !live[o])
#ifdef NO_GOES_ON
#define GOES_ON(s) false
#else
#define GOES_ON(s) (last != 0 && last != s && phase[last] != ENDED && phase[last] != WAITING && !queued[last] && (BACKGROUND && !DEAD(owner[last]) || phase[last] == RUNNING && cmd[last] == LIVES))
#endif
#define FREE(s) (lock[1] == 0 && lock[2] == 0 && !GOES_ON(s))
#ifdef TRACE
#define BUSY(s) true /* a run of another task may have the mutex, or the seats */
#else
#define BUSY(s) !FREE(s)
#endif

inline settle(s, what) { assert(outcome[s] == OPEN && cmd[s] != LIVES); outcome[s] = what; phase[s] = FINISHING }

inline fork(s, has) {
	assert(starts[s] <= attempt[s]); /* an attempt starts once */
	assert(cmd[3 - s] != LIVES);     /* no overlap */
	assert(outcome[s] == OPEN);
	starts[s]++;
	cmd[s] = LIVES;
#ifndef NO_INHERIT
	if
	:: lock[s] & has -> lock[s] = lock[s] | H_CMD
	:: !(lock[s] & has) -> skip
	:: s == 1 -> skip /* the command closes it at once */
	fi
#endif
}

inline finished(s) {
	EVENT(s, E_END)
	assert(cmd[s] != LIVES);
	assert(outcome[s] != SKIPPED || starts[s] == 0);
	forget(s)
}

/* A row that has ended. What does not matter any more is made equal, so that there are fewer states. */
inline forget(s) {
	phase[s] = ENDED; owner[s] = NOBODY; outcome[s] = RAN;
	fired[s] = (fired[s] > 0 || tries[s] == 2); tries[s] = 0; hookEnded[s] = 0;
	cmd[s] = NOT_YET; starts[s] = 0; attempt[s] = 0; waits[s] = 0; queued[s] = 0; given[s] = 0; heldBy[s] = 0; forked[s] = 0;
	if :: last == s -> last = 0 :: else fi
}

/* What comes after the outcome was written: the hook, the mutex, the end. */
inline conclude(s) {
#ifdef END_BEFORE_HOOKS
	atomic { finished(s) }
#endif
	if
	:: atomic { !hookEnded[s] && tries[s] < 2 -> tries[s]++ }
		atomic { fired[s]++; assert(fired[s] == 1 || kills > 0) }
	:: atomic { else -> skip }
	fi;
	atomic { hookEnded[s] = true; lock[s] = 0 } /* LOCK_UN counts for all processes of the run */
#ifndef END_BEFORE_HOOKS
	atomic { finished(s) }
#endif
}

inline plan() {
	s = 1;
	do
	:: s <= SLOTS ->
		if
#ifdef TAKE_FROM_LIVE
		:: phase[s] == PLANNED ->
#else
		:: phase[s] == PLANNED && DEAD(owner[s]) ->
#endif
			EVENT(s, E_BACK)
			owner[s] = NOBODY;
			if
			:: waits[s] -> phase[s] = WAITING
			:: else -> phase[s] = NONE
			fi
		:: else
		fi;
		if
		:: phase[s] == WAITING && !attempt[s] -> EVENT(s, E_PLAN) phase[s] = PLANNED; owner[s] = me
		:: phase[s] == NONE && s < minute -> EVENT(s, E_MISSED) assert(outcome[s] == OPEN && starts[s] == 0); forget(s); fired[s] = 1
		:: phase[s] == NONE && s <= minute -> EVENT(s, E_PLAN) phase[s] = PLANNED; owner[s] = me /* also missed: once */
		:: phase[s] != NONE && s == minute && owner[s] != me -> assert(false) /* a second run of the slot */
		:: else
		fi;
		s++
	:: else -> break
	od;
	covered = minute
}

/* One step of the process that has the row. Blind: it has none of the descriptors. */
inline supervise(s, me, has) {
	if
#ifdef QUEUES
	:: atomic { phase[s] == READY && queued[s] && FREE(s) && (SOON(E_START) || SOON(E_TO_TICK)) -> queued[s] = false; last = s; heldBy[s] = t; lock[s] = has }
#endif
	:: atomic { phase[s] == READY -> EVENT(s, E_FINISH) queued[s] = false; settle(s, RAN) } /* a hook before it failed, it was stopped, it waited too long */
	:: phase[s] == READY && !queued[s] ->
#ifdef COMMIT_AFTER_FORK
		atomic { EVENT(s, E_FORK) fork(s, has) }
		atomic { owner[s] == me -> EVENT(s, E_START) phase[s] = RUNNING }
#else
		atomic { EVENT(s, E_START) phase[s] = RUNNING }
		atomic { EVENT(s, E_FORK) fork(s, has) }
#endif
	:: phase[s] == RUNNING && cmd[s] == OVER ->
		if
		:: atomic { EVENT(s, E_FINISH) settle(s, RAN) }
#if RETRIES > 0
		:: atomic { attempt[s] < RETRIES -> EVENT(s, E_AGAIN) attempt[s]++; phase[s] = READY; cmd[s] = NOT_YET }
		:: atomic { attempt[s] < RETRIES && BACKGROUND && me != SUP(LAST) -> EVENT(s, E_DEFER) attempt[s]++; phase[s] = WAITING; owner[s] = NOBODY; cmd[s] = NOT_YET }
			lock[s] = 0
#endif
		fi
	:: atomic { phase[s] == RUNNING && cmd[s] == NOT_YET -> EVENT(s, E_FINISH) settle(s, LOST) } /* it was in the middle of the start */
	:: phase[s] == FINISHING && BACKGROUND ->
		atomic { EVENT(s, E_TO_FINISH) live[FIN(s)] = true; forked[s] = false; heldBy[s] = me - SUP(0); owner[s] = FIN(s) }
		atomic { forked[s] = true; if :: lock[s] & has -> lock[s] = (lock[s] | H_FIN) & ~has :: else fi }
	:: phase[s] == FINISHING -> conclude(s) /* also a run without hooks, or whose finish cannot be started */
	fi
}

proctype fin(byte s) {
begin:
	atomic { forked[s] && owner[s] == FIN(s) && live[FIN(s)] }
	{ conclude(s) } unless { !live[FIN(s)] }
	atomic { live[FIN(s)] = false; goto begin }
}

#define CAN(s) (owner[s] == me && (successor || given[s] || tickOver[t]) && (phase[s] == READY || phase[s] == FINISHING || phase[s] == RUNNING && cmd[s] != LIVES))

/* The supervisor of a tick, and its witness, which becomes the supervisor when that was killed. */
proctype sup(byte t) {
	byte me = SUP(t), s;
	bool successor;
new:
	live[me];
begin:
	{ do
	  :: atomic {
			if
			:: CAN(1) -> s = 1
			:: CAN(2) -> s = 2
			:: tickOver[t] && owner[1] != me && owner[2] != me -> live[me] = false; goto gone
			fi }
		supervise(s, me, H_SUP)
	  od
	} unless { !live[me] || supKilled[t] }
	atomic {
		s = 0;
		if
		:: live[me] -> supKilled[t] = false; successor = true; goto begin
		:: else
		fi
	}
gone:
	atomic { s = 0; successor = 0; supKilled[t] = 0 }
#ifdef TRACE
	goto new
#endif
}

/* The supervisor comes into being with the first row that it gets. */
inline toSupervisor() {
	if
	:: !spawned -> spawned = true; live[SUP(t)] = true
	:: else
	fi;
	owner[s] = SUP(t)
}

/* The supervisor is sent a row that is its own already. Saw: the row is the tick's again. */
inline sendOnce() {
	atomic {
		if
		:: live[SUP(t)] -> given[s] = true; if :: owner[s] == SUP(t) && phase[s] == READY && lock[s] & H_TICK -> lock[s] = (lock[s] | H_SUP) & ~H_TICK :: else -> lock[s] = lock[s] & ~H_TICK fi
		:: else -> if :: owner[s] == SUP(t) && phase[s] == READY -> EVENT(s, E_TO_TICK) owner[s] = me :: else -> lock[s] = lock[s] & ~H_TICK fi
		fi;
		if
		:: owner[s] == me && phase[s] == READY -> saw = 1
		:: else -> saw = 0
		fi
	}
}

/* A second supervisor is tried, too, but only in traces: it has the number of the first one. */
inline send() {
	sendOnce();
#ifdef TRACE
	if
	:: atomic { saw -> EVENT(s, E_TO_SUPERVISOR) saw = 0; supKilled[t] = false; live[SUP(t)] = true; owner[s] = SUP(t) } sendOnce()
	:: atomic { else -> skip }
	fi;
#endif
	if
	:: atomic { saw -> saw = 0; EVENT(s, E_FINISH) settle(s, RAN) } conclude(s)
	:: atomic { else -> skip }
	fi
}

/* A slot that may start: in the background its row begins as one of the supervisor. */
inline begin() {
#ifdef FOREGROUND
	atomic { EVENT(s, E_BEGIN) phase[s] = READY; waits[s] = false }
	do
	:: owner[s] == me -> supervise(s, me, H_TICK)
	:: else -> break
	od
#else
	atomic { EVENT(s, E_BEGIN) phase[s] = READY; waits[s] = false; toSupervisor() }
	send()
#endif
}

/* A row that is ready and that this tick has taken goes to its supervisor. */
inline give() {
	atomic { EVENT(s, E_TO_SUPERVISOR) toSupervisor() }
	send()
}

inline start() { /* a row that this tick has planned */
	if
#ifdef STORE_WAITS
	:: atomic { t != LAST -> EVENT(s, E_BACK) phase[s] = WAITING; owner[s] = NOBODY; waits[s] = true }
#endif
	:: atomic { FREE(s) -> last = s; lock[s] = H_TICK; heldBy[s] = t; }
		begin()
#ifdef QUEUES
	:: atomic { BACKGROUND -> EVENT(s, E_BEGIN) phase[s] = READY; waits[s] = false; queued[s] = true } give() /* it begins here, and waits there */
	:: atomic { EVENT(s, E_SKIP) settle(s, SKIPPED) } conclude(s)
#endif
	:: atomic { BUSY(s) -> EVENT(s, E_SKIP) settle(s, SKIPPED) } conclude(s)
	fi
}

inline collect() {
	if
	:: phase[s] == WAITING && attempt[s] -> /* a deferred retry */
		if
		:: atomic { phase[s] == WAITING && owner[s] == NOBODY -> EVENT(s, E_RETRY) phase[s] = READY; owner[s] = me }
			if
			:: atomic { FREE(s) -> last = s; lock[s] = H_TICK; heldBy[s] = t; given[s] = false } give()
			:: atomic { BUSY(s) -> EVENT(s, E_DEFER) phase[s] = WAITING; owner[s] = NOBODY }
			fi
		:: atomic { else -> skip }
		fi
	:: atomic { (phase[s] == READY || phase[s] == RUNNING || phase[s] == FINISHING) && DEAD(owner[s]) -> saw = owner[s]; sawPhase = phase[s] }
		if
#ifdef NO_TAKE_CHECK
		:: atomic { EVENT(s, E_TO_TICK) owner[s] = me }
#else
		:: atomic { owner[s] == saw && phase[s] == sawPhase -> EVENT(s, E_TO_TICK) owner[s] = me }
#endif
			saw = 0;
			if
			:: sawPhase == FINISHING -> conclude(s)
			:: atomic { sawPhase == READY && attempt[s] && BACKGROUND && FREE(s) -> last = s; lock[s] = H_TICK; heldBy[s] = t; given[s] = false } give()
			:: queued[s] -> give()
			:: atomic { sawPhase == READY && attempt[s] && BACKGROUND && BUSY(s) -> EVENT(s, E_DEFER) phase[s] = WAITING; owner[s] = NOBODY }
			:: else ->
#ifndef NO_END_ORPHANS
				atomic { if :: cmd[s] == LIVES -> cmd[s] = OVER; lock[s] = lock[s] & ~H_CMD :: else fi }
#endif
				atomic { EVENT(s, E_FINISH) settle(s, LOST) }
				conclude(s)
			fi
		:: atomic { else -> skip }
		fi
	:: atomic { else -> skip }
	fi
}

#define OURS(s) (phase[s] == PLANNED && owner[s] == me)
#define LEFT(s) (DEAD(owner[s]) && phase[s] != PLANNED || phase[s] == WAITING && attempt[s])

proctype tick(byte t; byte minute) {
	byte me = t, s, saw;
	mtype sawPhase;
	bool spawned;
#ifdef TRACE
	atomic { (t == 0 || tickOver[t - 1]) -> live[me] = true } /* one after another */
#endif
	{
#ifdef PLAN_IN_TWO
		saw = covered;
		atomic { if :: saw >= minute -> goto done :: else fi; saw = 0; plan() }
#else
		atomic { if :: covered >= minute -> goto done :: else fi; plan() }
#endif
		do
		:: atomic { if :: OURS(1) -> s = 1 :: !OURS(1) && OURS(2) -> s = 2 :: else -> break fi } start()
		od;
		s = 0;
		do
		:: atomic { s++; if :: s <= SLOTS && !LEFT(s) -> s++ :: else fi; if :: s <= SLOTS && LEFT(s) :: else -> break fi } collect()
		od
	} unless { !live[me] }
done:
	atomic {
		live[me] = false; tickOver[t] = true;
		s = 0; saw = 0; spawned = false; sawPhase = 0
	}
}

/* The kernel closes what a process had open: that of a tick, or of a supervisor. */
inline drop(t, which) {
	for (n : 1 .. SLOTS) {
		if :: heldBy[n] == t -> lock[n] = lock[n] & ~which :: else fi;
		if :: which == H_SUP && heldBy[n] == t && owner[n] == FIN(n) && !forked[n] -> live[FIN(n)] = false :: else fi
	}
	n = 0
}
#ifdef TRACE
/* Only kills that show, and they may come as late as what they lead to. */
#define MAY_KILL(who) (owner[1] == who && (SOON(E_BACK) || SOON(E_TO_TICK) || SOON(E_RETRY) || SOON(E_PLAN)) || phase[1] == NONE && SOON(E_MISSED))
#define WITNESS_SHOWS (SOON(E_FINISH) && phase[1] == RUNNING && cmd[1] == NOT_YET)
#define COUNT_KILL skip /* as many as there were */
#else
#define MAY_KILL(who) (kills < KILLS)
#define WITNESS_SHOWS MAY_KILL(0)
#define COUNT_KILL kills++
#endif
#define KILL(may, can) :: atomic { may && !quiet && (can) -> COUNT_KILL;

/* A tick, its supervisor, or that and its witness. */
#define KILL_ONE_OF(t) \
	KILL(MAY_KILL(t), live[t]) live[t] = false; drop(t, H_TICK) } \
	KILL(WITNESS_SHOWS, live[SUP(t)]) supKilled[t] = true; drop(t, H_SUP) } \
	KILL(MAY_KILL(SUP(t)), live[SUP(t)]) live[SUP(t)] = false; drop(t, H_SUP) }

active proctype killer() {
	byte n;
end:
	do
	KILL_ONE_OF(0)
	KILL_ONE_OF(1)
	KILL_ONE_OF(2)
#if TICKS > 3
	KILL_ONE_OF(3)
	KILL_ONE_OF(4)
#endif
#if TICKS > 5
	KILL_ONE_OF(5)
	KILL_ONE_OF(6)
	KILL_ONE_OF(7)
	KILL_ONE_OF(8)
#endif
	KILL(MAY_KILL(FIN(1)), live[FIN(1)] && forked[1]) live[FIN(1)] = false; lock[1] = lock[1] & ~H_FIN }
	KILL(MAY_KILL(FIN(2)), live[FIN(2)] && forked[2]) live[FIN(2)] = false; lock[2] = lock[2] & ~H_FIN }
	od
}

active proctype commands() {
end:
	do
	:: atomic { cmd[1] == LIVES -> cmd[1] = OVER; lock[1] = lock[1] & ~H_CMD }
	:: atomic { cmd[2] == LIVES -> cmd[2] = OVER; lock[2] = lock[2] & ~H_CMD }
	od
}

init {
	byte s;
	atomic {
		for (s : 0 .. TICKS) { run sup(s) }
		run fin(1); run fin(2);
#ifdef TRACE
		c_code { readTree(); };
		for (s : 0 .. TICKS - 1) { run tick(s, s + 1) }
#else
		live[0] = true; run tick(0, 1);
#ifdef TWICE
		live[1] = true; run tick(1, 1);
#endif
		live[2] = true; run tick(2, 2)
#endif
	}
	timeout -> atomic { quiet = true; live[LAST] = true; run tick(LAST, LAST) }
	timeout -> atomic {
		for (s : 1 .. SLOTS) {
			assert(phase[s] == ENDED && fired[s] && lock[s] == 0)
		}
	}
}
