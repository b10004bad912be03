/*
 * The claim of one slot by several servers, in a store that loses answers.
 *
 * A model of:
 *   request  what becomes of one request to the store
 *   set      redis.call.SetNX; with -DSQL sqlstore.Store.takeAll, whose statement is dialect.takeRows
 *   del      redis.call.Eval, redis.Store.Close; with -DSQL sqlstore.Store.undo
 *   confirm  redis.Store.confirm; with -DSQL a statement of sqlstore.Store.takeRow
 *   take     redis.Store.attempt and redis.Store.ownValue with one node; with -DSQL sqlstore.Store.takeRow
 *   server   claims.Locks.claim, claims.Locks.takeNow, plan.Ledger.Delay
 *
 * SERVERS servers are due to run one slot. A server asks ASKS times at most, for the same run:
 * first in the tick of the slot. When it got no answer it keeps the slot (store_down: wait), and a
 * later tick asks again; also when a tick was killed before the run began. A value in the store has
 * the run and a nonce of the attempt. FAULTS requests get no answer: the store never sees them, or
 * it does what they say, or it does so later. What comes later comes before the next tick of that
 * server, a minute later. -DVERY_LATE lifts that, and then it is checked only that the slot runs
 * once at most; with -DNOWHERE also that it runs. With -DONE_PROCESS the asks follow each other in
 * one process, as those for a mutex do, and requests come as late as they like. A mutex that is found
 * keeps its value.
 *
 * It is checked that the slot runs once at most, and that it runs if the last word of the store to
 * each server was an answer.
 *
 * Left out: clocks, and the end of a claim, which comes long after the last ask (the rule
 * ENDS_EARLY lets it end at any time); the claim on the disk of the server; several nodes
 * (redlock.pml).
 */
#ifndef SERVERS
#define SERVERS 2
#endif
#ifndef FAULTS
#define FAULTS 2
#endif
#ifndef ASKS
#define ASKS 2
#endif
#define VALUE(me, nonce) (1 + (me) * ASKS + (nonce))
#define RUN(v) (((v) - 1) / ASKS)

mtype = { UNKNOWN, MINE, TAKEN };

byte stored;                           /* the value in the store; 0 for none */
byte lateSet[SERVERS], lateDel[SERVERS]; /* on their way */
byte lateConfirm[SERVERS], lateEarlier[SERVERS];
byte faults, ran, over, unknown;
bool lost;

#ifdef TRACE
#include "trace.pml"
#define FAULT true
#define ROOM(late) true /* for one more, in the place of the last one */
#else
#define FAULT faults < FAULTS; faults++
#define ROOM(late) !late
#define EXPECT(what)
#endif

inline set(v) {
	if
	:: stored == 0 -> stored = v
	:: else /* with SQL, too, a run that has the row keeps its value */
	fi
}

inline del(v) {
	if
#ifdef NO_NONCE
	:: stored != 0 && RUN(stored) == RUN(v) -> stored = 0
#else
	:: stored == v -> stored = 0
#endif
	:: else
	fi
}

/* Only a store that still has the earlier value of the run gives it the new one. */
inline confirm(v, was) {
	if
	:: stored == was -> stored = v
	:: else
	fi
}

#define SET 1
#define DEL 2
#define CONFIRM 3

inline execute(what, v, was) {
	if
	:: what == SET -> set(v)
	:: what == DEL -> del(v)
	:: what == CONFIRM -> confirm(v, was)
	fi
}

/* A request that sets or removes a value. In found is then what the answer says. */
inline request(what, v) {
	atomic {
		if
		:: execute(what, v, earlier); answered = true
#ifndef TRACE /* a late request may be carried out at once, or never */
		:: FAULT; answered = false; execute(what, v, earlier)
		:: FAULT; answered = false
#endif
		:: what == SET && ROOM(lateSet[me]) -> FAULT; answered = false; lateSet[me] = v
		:: what == DEL && ROOM(lateDel[me]) -> FAULT; answered = false; lateDel[me] = v
		:: what == CONFIRM && ROOM(lateConfirm[me]) -> FAULT; answered = false; lateConfirm[me] = v; lateEarlier[me] = earlier
		fi;
		found = stored;
		EXPECT(what)
	}
}

/* One take. Undone has the values of this process whose attempts failed without an answer. */
inline take() {
	request(SET, VALUE(me, nonce));
	if
	:: !answered ->
		undone[nonce] = true;
		how = UNKNOWN;
#ifdef RUNS_UNKNOWN
		how = MINE;
#endif
#ifndef SQL
		request(DEL, VALUE(me, nonce)) /* redsync takes back what it may have set */
#endif
	:: answered && found == VALUE(me, nonce) -> how = MINE
	:: answered && found != 0 && RUN(found) != me -> how = TAKEN
	:: answered && found != VALUE(me, nonce) && RUN(found) == me ->
#ifdef OWN_IS_TAKEN
		how = TAKEN
#else
		if
#if !defined(SQL) && !defined(FORGETS_UNDO)
		:: undone[found - VALUE(me, 0)] -> how = UNKNOWN; request(DEL, found) /* and the next attempt sets it anew */
		:: else ->
#else
		:: true ->
#endif
			undone[found - VALUE(me, 0)] = false;
#if defined(NO_CONFIRM) || defined(ONE_PROCESS) /* a mutex keeps its value */
			how = MINE
#else
			earlier = found;
			request(CONFIRM, VALUE(me, nonce));
			how = (answered && (found == VALUE(me, nonce)) -> MINE : UNKNOWN)
#endif
		fi
#endif
	fi
}

#ifdef TRACE
/*
 * A server of a trace. It may try a claim again before it has its answer, as with several nodes,
 * and may withdraw what it has tried, when the trace says that its process ends in peace.
 */
proctype server(byte me) {
	byte nonce, found, earlier, n;
	short ask;
	bool answered, tried, undone[ASKS];
	mtype how = UNKNOWN;
end:
	do
	:: atomic { COMING(E_ASKS) -> /* another process than before */
			for (n : 0 .. ASKS - 1) { undone[n] = false }
			how = UNKNOWN; tried = false; ask = at; NEXT }
		do
		:: MAY_TRY && nonce < ASKS && how == UNKNOWN -> take(); nonce++; tried = true
		:: atomic { how == MINE && COMING(E_GOT) -> NEXT }; break
		:: atomic { how == TAKEN && COMING(E_HELD) -> NEXT }; break
		:: atomic { tried && how == UNKNOWN && COMING(E_UNKNOWN) -> NEXT }; break
		:: COMING(E_ASKS) || COMING(E_CLOSES) -> break /* it was killed */
		od
	:: atomic { how == MINE && COMING(E_STARTS) -> NEXT }
	:: atomic { COMING(E_CLOSES) -> NEXT };
		for (n : 0 .. ASKS - 1) {
			if
			:: undone[n] -> undone[n] = false; request(DEL, VALUE(me, n))
			:: else
			fi
		}
		do
		:: atomic { how == MINE && COMING(E_STARTS) -> NEXT }
		:: atomic { COMING(E_CLOSED) -> NEXT }; break
		:: COMING(E_ASKS) -> break /* it was killed */
		od
	od
}
#else
proctype server(byte me) {
	byte nonce, found, earlier;
	bool answered, undone[ASKS];
	mtype how = UNKNOWN;
	do
	:: nonce < ASKS && how == UNKNOWN ->
#if !defined(VERY_LATE) && !defined(ONE_PROCESS)
		lateSet[me] == 0 && lateDel[me] == 0 && lateConfirm[me] == 0; /* a minute has passed */
#endif
		take();
		if
		:: how == MINE -> atomic { ran++; assert(ran <= 1 || lost) }
#ifndef ONE_PROCESS
		:: how == MINE && nonce + 1 < ASKS -> how = UNKNOWN; undone[0] = false /* killed; the next tick asks for the same run */
#endif
		:: how != MINE
		fi;
#ifndef ONE_PROCESS
		if
		:: undone[nonce] -> undone[nonce] = false; request(DEL, VALUE(me, nonce)) /* Close */
		:: undone[nonce] = false /* it was killed */
		fi;
#endif
		nonce++
	:: else -> break
	od;
	atomic { over++; if :: how == UNKNOWN -> unknown++ :: else fi }
}
#endif

#ifdef TRACE
#define COUNTS(what) && !dead && (what) /* the others change nothing */
#else
#define COUNTS(what)
#endif
#define LATE(i) \
	:: atomic { lateSet[i] != 0 COUNTS(stored == 0) -> set(lateSet[i]); lateSet[i] = 0 } \
	:: atomic { lateDel[i] != 0 COUNTS(stored == lateDel[i]) -> del(lateDel[i]); lateDel[i] = 0 } \
	:: atomic { lateConfirm[i] != 0 COUNTS(stored == lateEarlier[i]) -> confirm(lateConfirm[i], lateEarlier[i]); lateConfirm[i] = 0; lateEarlier[i] = 0 }

active proctype network() {
end:
	do
	LATE(0)
	LATE(1)
#if SERVERS > 2
	LATE(2)
#endif
#if SERVERS > 3
	LATE(3) LATE(4) LATE(5) LATE(6) LATE(7) LATE(8) LATE(9) LATE(10) LATE(11) LATE(12) LATE(13) LATE(14)
#endif
#ifdef TRACE
	:: atomic { stored != 0 && FORGETS -> stored = 0 }
	:: atomic { LOSS_BEGINS_OR_ENDS -> NEXT }
#endif
#ifdef LOSES_DATA
	:: atomic { !lost -> lost = true; stored = 0 }
#endif
#ifdef ENDS_EARLY
	:: atomic { stored != 0 -> stored = 0 }
#endif
	od
}

init {
	byte i;
#ifdef TRACE
	c_code { readTrace(); };
#endif
	atomic { for (i : 0 .. SERVERS - 1) { run server(i) } }
#if !defined(TRACE) && !defined(ONE_PROCESS) && (!defined(VERY_LATE) || defined(NOWHERE)) /* one process asks again after "taken", too */
	over == SERVERS -> assert(ran == 1 || unknown > 0 || lost)
#endif
}
