/*
 * One key on three nodes of Redis, of which two decide.
 *
 * A model of:
 *   setAll   redis.call.SetNX as redsync's LockContext calls it: in turn, or all at once
 *   delAll   redis.call.Eval: what an attempt takes back, and what redis.Store.release removes
 *   look     redis.Store.ownValue, redis.mostCommon
 *   taker    redis.Store.take and redis.Store.attempt until the deadline; then the run, its release
 *
 * RIVALS runs want the key at the same time. When all are over, another one wants it. An attempt
 * has a value of its own. One node, the same for all, is faulty: FAULTS times it leaves a request
 * without an answer, and does what the request says, or does it later, or never. -DLOSES_DATA: it
 * may lose its data, too. -DTWO_FAULTY: each of the nodes is faulty.
 *
 * It is checked that no two runs have the key at once, and that the last run gets it. With
 * -DNO_FAULTS it is checked instead that one of three rivals gets it in the first attempt.
 *
 * Left out: leases, which end (lease.pml), and their renewal; clocks that run apart; a process that
 * stands still for longer than a lease; more than one deadline of attempts.
 */
#ifdef NO_FAULTS
#define FAULTS 0
#define ATTEMPTS 1
#define RIVALS 3
#endif
#ifndef FAULTS
#define FAULTS 2
#endif
#ifndef ATTEMPTS
#define ATTEMPTS 2
#endif
#ifndef MAJORITY
#define MAJORITY 2
#endif
#ifndef RIVALS
#define RIVALS 2
#endif
#define NODES 3
#define VALUE(i, n) (1 + 2 * (i) + (n))
#define RUN(v) (((v) - 1) / 2)

mtype = { TRIES, HAS, TAKEN, SPLIT };
mtype is[RIVALS + 1] = TRIES;
byte value[NODES];            /* by node; 0 for none */
byte late[NODES], lateDel[NODES]; /* on their way */
byte faults, bad, having, over, got;

#ifdef TWO_FAULTY
#define MAY_FAIL(n) (faults < FAULTS)
#else
#define MAY_FAIL(n) (n == bad && faults < FAULTS)
#endif

#ifdef AT_ONCE
#define IN_TURN false
#else
#define IN_TURN (attempt + 1 < ATTEMPTS || ATTEMPTS == 1)
#endif

inline setOn(n, v) { if :: value[n] == 0 -> value[n] = v :: else fi }
#ifdef DELETE_UNCHECKED
inline delOn(n, v) { value[n] = 0 }
#else
inline delOn(n, v) { if :: value[n] == v -> value[n] = 0 :: else fi }
#endif

/* Yes and unknown have a bit for each node. */
inline setAll(v) {
	yes = 0; unknown = 0; n = 0;
	do
	:: n < NODES ->
		atomic {
			if
			:: setOn(n, v); if :: value[n] == v -> yes = yes | (1 << n); count++ :: else -> no = true fi
			:: MAY_FAIL(n) -> faults++; unknown = unknown | (1 << n); setOn(n, v)
			:: MAY_FAIL(n) -> faults++; unknown = unknown | (1 << n)
			:: MAY_FAIL(n) && !late[n] -> faults++; unknown = unknown | (1 << n); late[n] = v
			fi;
			n++;
			/* In turn: the first node that answers decides who goes on. The last attempt asks all. */
			if :: no && yes == 0 && IN_TURN -> n = NODES :: else fi
		}
	:: else -> break
	od;
	no = false
}

inline delAll(v, which) {
	n = 0;
	do
	:: n < NODES && (which & (1 << n)) ->
		atomic {
			if
			:: delOn(n, v)
			:: MAY_FAIL(n) && !lateDel[n] -> faults++; lateDel[n] = v
			:: MAY_FAIL(n) -> faults++
			fi;
			n++
		}
	:: n < NODES && !(which & (1 << n)) -> n++
	:: else -> break
	od
}

#define COUNT(v) ((value[0] == v) + (value[1] == v) + (value[2] == v))

/* All nodes are read at once. What the faulty one says may be missing. */
inline look() {
	atomic {
		if
		:: value[0] != 0 && COUNT(value[0]) >= 2 -> found = value[0]
		:: !(value[0] != 0 && COUNT(value[0]) >= 2) && value[1] != 0 && COUNT(value[1]) >= 2 -> found = value[1]
		:: else -> found = 0
		fi
	}
	if
	:: found != 0 && RUN(found) != i -> is[i] = TAKEN
	:: found != 0 && RUN(found) == i && !undone[found - VALUE(i, 0)] -> has()
	:: found != 0 && RUN(found) == i && undone[found - VALUE(i, 0)] -> delAll(found, 7)
	:: found == 0 ->
#ifndef NO_CLEANUP
		delAll(VALUE(i, 0), 7); if :: attempt == 1 -> delAll(VALUE(i, 1), 7) :: else fi
#else
		skip
#endif
	fi;
	found = 0
}

inline has() {
	atomic { is[i] = HAS; having++; got++; assert(having == 1) }
}

proctype taker(byte i) {
	byte yes, unknown, n, count, found, attempt;
	bool no, undone[2];
	do
	:: is[i] == TRIES && attempt < ATTEMPTS ->
		setAll(VALUE(i, attempt));
		if
		:: count >= MAJORITY -> has()
		:: else ->
			if :: unknown -> undone[attempt] = true :: else fi;
#ifndef NO_CLEANUP
			delAll(VALUE(i, attempt), (yes | unknown));
#endif
			look()
		fi;
		atomic { count = 0; yes = 0; unknown = 0; attempt++ }
	:: is[i] == TRIES && attempt == ATTEMPTS -> is[i] = SPLIT
	:: is[i] == HAS ->
		having--;
		delAll(VALUE(i, 0), 7); delAll(VALUE(i, 1), 7); /* the one that it has */
		is[i] = TAKEN
	:: is[i] == TAKEN || is[i] == SPLIT -> break
	od;
	over++
}

active proctype network() {
	byte n;
end:
	do
	:: atomic { late[0] -> setOn(0, late[0]); late[0] = 0 }
	:: atomic { late[1] -> setOn(1, late[1]); late[1] = 0 }
	:: atomic { late[2] -> setOn(2, late[2]); late[2] = 0 }
	:: atomic { lateDel[0] -> delOn(0, lateDel[0]); lateDel[0] = 0 }
	:: atomic { lateDel[1] -> delOn(1, lateDel[1]); lateDel[1] = 0 }
	:: atomic { lateDel[2] -> delOn(2, lateDel[2]); lateDel[2] = 0 }
#ifdef LOSES_DATA
	:: atomic { MAY_FAIL(bad) && over < RIVALS -> faults++; value[bad] = 0 }
#endif
	od
}

init {
	atomic {
		if :: bad = 0 :: bad = 1 :: bad = 2 fi; run taker(0); run taker(1);
#if RIVALS > 2
		run taker(2);
#endif
	}
	over == RIVALS -> faults = FAULTS;
#ifdef NO_FAULTS
	assert(got > 0)
#else
	timeout -> got = 0; run taker(RIVALS);
	over == RIVALS + 1 -> assert(got == 1)
#endif
}
