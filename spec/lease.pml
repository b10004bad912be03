/*
 * The lease of a mutex in a store: taken, renewed, lost, taken over.
 *
 * A model of:
 *   acquire  redis.Store.Acquire, sqlstore.Store.Acquire; lease.Keeper.Keep until the command starts
 *   renew    redis.lease.Renew, sqlstore.lease.Renew, lease.Renewer.judge, lease.Renewer.renew
 *   start    lease.Renewer.HeldToStart, supervise.supervision.stopIfLockLost
 *   look     lease.Renewer.stopInTime (on_lost_lease: stop)
 *   killed   lease.Keeper.Renew of the witness: the lease counts from the renewal that the row has
 *   finish   redis.lease.Release, sqlstore.lease.Release
 *
 * RUNS runs of one task, each on a server of its own, want one mutex. Time goes in thirds of a
 * lease. A process that is not frozen acts in each of them. FREEZES processes stand still, each for
 * as long as it likes. The store may leave OUTAGES requests without an answer, whether it did what
 * they say or not, and an answer may take a third of a lease. -DSTOP: on_lost_lease is stop. KILLS
 * processes are killed while their command runs, and another one takes over at once.
 *
 * It is checked that two commands go on at once only if the lease of one of both ended while its
 * process was frozen, or got no answer, or if the store lost its data; with -DSTOP an outage alone
 * is no excuse. And that a command starts only while its run has the mutex, and has had it since it
 * took it.
 *
 * Left out: the kernel's lock, which holds on one machine besides; clocks that run apart; a command
 * that does not end when it is killed; sched unlock.
 */
#ifndef RUNS
#define RUNS 3
#endif
#ifndef HORIZON
#define HORIZON 7
#endif
#ifndef OUTAGES
#define OUTAGES 1
#endif
#ifndef FREEZES
#define FREEZES 1
#endif
#ifndef KILLS
#define KILLS 0
#endif
#define LEASE 3
#define MARGIN 1 /* before its end, a command is stopped, or not started any more */
#define NOBODY 9
#define NEVER 99

#ifdef TRACE
#include "trace.pml"
#define WRITES(i) true
#else
#define WRITES(i) wrote[i] = held[i]
mtype = { IDLE, KEPT, RUNS_ITS, DONE };

mtype is[RUNS] = IDLE;
byte now = 1, holder = NOBODY, until;  /* the store */
byte held[RUNS];    /* since when the process believes to have the lease; 0: it is lost */
byte wrote[RUNS];   /* what it has written down of that, for the process that takes over */
byte asked[RUNS];   /* when the renewal began whose answer is on its way; 0: none */
bool answer[RUNS];  /* that it brings: the lease goes on */
bool acted[RUNS], frozen[RUNS];
byte frozenSoFar, outages, killed;

/* What only the checks know. */
bool froze[RUNS];   /* since its last renewal */
byte missed[RUNS];   /* for how long it was frozen, or not answered, since its last renewal */
bool excused[RUNS]; /* so its lease has ended */
bool other[RUNS];   /* another run had the mutex since it took it */
bool lost;

#define HAS(i) (holder == i && now < until)
#define FREE (holder == NOBODY || now >= until)
#define AGE(i) (now - held[i])

inline take(i) { holder = i; until = now + LEASE; missed[i] = 0; froze[i] = 0 }
#endif

#ifdef SQL
#define RENEWS(i) (holder == i) /* a database also renews what has ended, if no run has taken it */
#else
#define RENEWS(i) HAS(i)
#endif

/* What the store does with a renewal; good: the lease went on without a break. */
inline renewIn(i, good) {
	if
	:: RENEWS(i) -> take(i); good = true
#ifdef RENEWS_UNCHECKED
	:: !RENEWS(i) -> take(i); good = true
#else
	:: !RENEWS(i) && FREE -> take(i); good = false
	:: !RENEWS(i) && !FREE -> good = false
#endif
	fi
}

inline judge(i, begun, good) {
	if
	:: good -> held[i] = begun; WRITES(i)
	:: else -> held[i] = 0 /* it is noted */
	fi
}

#ifdef STOP
#define EXCUSE(n) froze[n]
#else
#define EXCUSE(n) (missed[n] > 0)
#endif

/* One renewal: the answer comes at once, later, or never. */
inline renew(i) {
	if
	:: renewIn(i, ok); judge(i, now, ok)
	:: !asked[i] -> asked[i] = now; renewIn(i, answer[i])
	:: outages < OUTAGES -> outages++; missed[i]++; renewIn(i, ok)
	:: outages < OUTAGES -> outages++; missed[i]++
	fi;
	ok = false
}

/* The answer that was on its way. */
inline hear(i) {
	if
	:: asked[i] && asked[i] < now ->
#ifdef HELD_FROM_ANSWER
		judge(i, now, answer[i]);
#else
		judge(i, asked[i], answer[i]);
#endif
		asked[i] = 0; answer[i] = 0
	:: else
	fi
}

inline release(i) {
#ifdef RELEASES_UNCHECKED
	holder = NOBODY
#else
	if :: HAS(i) -> holder = NOBODY :: else fi
#endif
}

#ifndef TRACE
inline finish(i) {
	release(i);
	is[i] = DONE; held[i] = 0; wrote[i] = 0; asked[i] = 0; answer[i] = 0; excused[i] = 0; other[i] = 0; missed[i] = 0; froze[i] = 0
}

inline start(i) {
	assert((HAS(i) && !other[i]) || lost);
	is[i] = RUNS_ITS; WRITES(i);
	for (n : 0 .. RUNS - 1) {
		if
		:: n != i && is[n] == RUNS_ITS -> assert(excused[n] || excused[i] || lost)
		:: else
		fi
	}
	n = 0
}

proctype run_(byte i) {
	byte n;
	bool ok;
	do
	:: atomic { is[i] == IDLE && !acted[i] -> acted[i] = true;
		if
		:: FREE ->
			for (n : 0 .. RUNS - 1) { if :: n != i -> other[n] = (is[n] == KEPT) :: else fi }
			n = 0; take(i); held[i] = now; is[i] = KEPT;
			if
			:: outages < OUTAGES -> outages++; is[i] = DONE; held[i] = 0 /* no answer: what it has set is in the way until it ends */
			:: true
			fi
		:: skip
		fi }
	:: atomic { is[i] == KEPT && !frozen[i] && (!acted[i] || AGE(i) <= 1) -> acted[i] = true;
		hear(i);
		if
#ifdef STARTS_UNCHECKED
		:: start(i)
#else
		:: held[i] != 0 && AGE(i) <= 1 -> start(i)
		:: held[i] == 0 || AGE(i) > 1 -> /* HeldToStart */
			if
			:: renewIn(i, ok); judge(i, now, ok); ok = false
			:: outages < OUTAGES -> outages++; missed[i]++
			fi;
			if
			:: held[i] != 0 && AGE(i) < LEASE - MARGIN -> start(i)
			:: else -> finish(i)
			fi
#endif
#ifdef KEPT_RENEWS_LOST
		:: true ->
			if :: HAS(i) || FREE -> take(i); held[i] = now :: else fi
#else
		:: held[i] != 0 && AGE(i) < LEASE -> renew(i)
#endif
		fi }
	:: atomic { is[i] == RUNS_ITS && killed < KILLS -> killed++; frozen[i] = false; asked[i] = 0; answer[i] = 0;
#ifdef TAKEOVER_IS_NEW
		held[i] = now
#else
		held[i] = wrote[i]
#endif
		}
	:: atomic { is[i] == RUNS_ITS && !frozen[i] && !acted[i] -> acted[i] = true;
		hear(i);
		if
#ifndef NO_RENEWAL
		:: renew(i)
#else
		:: skip
#endif
		:: finish(i)
		fi;
#ifdef STOP
		if
#ifdef STOPS_LATE
		:: is[i] == RUNS_ITS && held[i] == 0 -> finish(i)
#else
		:: is[i] == RUNS_ITS && (held[i] == 0 || AGE(i) >= LEASE - MARGIN) -> finish(i)
#endif
		:: else
		fi
#endif
		}
	:: is[i] == DONE -> break
	od
}

#define WAITS(i) (acted[i] || frozen[i] || is[i] == DONE)
#if RUNS > 2
#define ALL_WAIT (WAITS(0) && WAITS(1) && WAITS(2))
#else
#define ALL_WAIT (WAITS(0) && WAITS(1))
#endif

active proctype clock() {
	byte n;
end:
	do
	:: atomic { now < HORIZON && ALL_WAIT -> now++;
		for (n : 0 .. RUNS - 1) {
			if :: frozen[n] && !acted[n] -> missed[n]++; froze[n] = 1 :: else fi; /* a third of a lease in which it did nothing */
			acted[n] = false;
			if
			:: is[n] == RUNS_ITS && !HAS(n) && EXCUSE(n) -> excused[n] = true
			:: else
			fi
		}
		n = 0 }
	:: atomic { frozenSoFar < FREEZES ->
		if
		:: is[0] != DONE && !frozen[0] -> frozen[0] = true
		:: is[1] != DONE && !frozen[1] -> frozen[1] = true
		fi; frozenSoFar++ }
	:: atomic { frozen[0] -> frozen[0] = false }
	:: atomic { frozen[1] -> frozen[1] = false }
#ifdef LOSES_DATA
	:: atomic { !lost -> lost = true; holder = NOBODY }
#endif
	od
}

init {
	byte n;
	atomic { for (n : 0 .. RUNS - 1) { run run_(n) } }
}
#endif

#ifdef TRACE
/*
 * The mutex of a trace. Time goes as its events say. What a process has asked is carried out once:
 * before the answer, or at any time later if it got none. An answer comes only if it is what the
 * store did. A question to acquire that got no answer may be withdrawn.
 */
active proctype mutex() {
	byte q, i; /* q: a question that is carried out next; 0 for none */
	short asked;
	bool good;
	c_code { readTrace(); };
end:
	do
	:: atomic { COMES -> FETCH;
		if
		:: IS_QUESTION -> op[q] = PENDING; ask[q] = at
		:: IS(E_GOT) && op[q] == CARRIED_OUT -> op[q] = OVER; judge(i, asked, true)
		:: IS(E_LOST) && op[q] == CARRIED_OUT -> op[q] = OVER; judge(i, asked, false)
		:: IS(E_HELD) && op[q] == CARRIED_OUT -> op[q] = OVER
		:: IS(E_RELEASED) && op[q] == CARRIED_OUT -> op[q] = OVER; held[i] = 0
		:: IS(E_UNKNOWN)
		:: IS(E_STARTS) && held[i] != 0 && AGE(i) <= LEASE - MARGIN && (HAS(i) && !OTHER || lost)
		:: IS(E_FORGETS) -> forgets = true
		:: IS(E_FORGOT) -> forgets = false
		fi;
		NEXT; q = 0; i = 0; asked = 0 }
	:: atomic { !MUST_END && MORE -> PICK }
	:: atomic { q != 0 && op[q] == PENDING -> WHO_ASKED;
		if
		:: ASKS_FOR(E_ACQUIRE) && !WAS_HELD && (FREE || HAS(i)) -> take(i)
		:: ASKS_FOR(E_ACQUIRE) && WAS_HELD && !FREE && IS_HOLDER
		:: ASKS_FOR(E_RENEW) -> renewIn(i, good); TOLD
		:: ASKS_FOR(E_RELEASE) -> release(i)
		fi;
		op[q] = CARRIED_OUT; q = 0; i = 0; good = false }
	:: atomic { q != 0 && op[q] == CARRIED_OUT -> WHO_ASKED; release(i); op[q] = OVER; q = 0; i = 0 } /* it is withdrawn */
	:: atomic { MAY_END -> ended = true }
	:: atomic { forgets && holder != NOBODY -> holder = NOBODY; lost = true }
	od
}
#endif
