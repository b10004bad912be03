/*
 * Runs of one machine that wait for a mutex and for a seat of a pool.
 *
 * A model of:
 *   stand    supervise.waiter.enqueue, state.WaitFor
 *   behind   supervise.waiter.checkFirst, state.DB.LiveQueue, state.Row.InQueue
 *   try      supervise.waiter.tryToAcquire, supervise.waiter.seatsTaken, mutex.Need.Acquire, mutex.Need.takeSeat, acquireSeat
 *   queues   supervise.waiter.queueNames
 *   waiter   supervise.waiter.wait
 *
 * Runs 0 and 1 need the mutex and a seat, run 2 a seat alone. There is one seat. Each begins to
 * wait, runs when it has what it needs, ends, and begins again. -DKILLED: run 0 may be killed, and
 * its row is given to another process later, or never. -DFOREVER: run 0 has the mutex, and never
 * ends.
 *
 * It is checked that a run which waits runs at last, whatever the others do; that a run has its
 * mutex and its seat alone; and that it has none of them while it waits.
 *
 * Left out: a wait that is too long and ends; pauses; locks in a store, where nobody promises an
 * order; a process that has looked at the queue less than 50 ms ago and looks no more (supervise.queueView).
 */
#define RUNS 3
#define NOBODY 9
#ifndef OF
#define OF 2 /* the run that runs at last */
#endif

mtype = { OUT, WAITS, GOES_ON };
mtype is[RUNS] = OUT;
bool forSeat[RUNS];     /* for what it stands: for the mutex alone, or also for a seat */
bool live[RUNS] = true; /* the process of the row */
bool before[9];         /* before[3 * i + j]: i began to wait before j */
byte mutex = NOBODY, seat = NOBODY;
byte kills;

#define NEEDS_MUTEX(i) ((i) != 2)
#ifdef DEAD_STAND
#define LIVE(j) true
#else
#define LIVE(j) live[j]
#endif
#define STANDS(j) (is[j] == WAITS && LIVE(j))
#define BEFORE(j) (j != i && before[3 * j + i] && STANDS(j))

#ifdef NO_ORDER
#define FIRST_FOR_MUTEX true
#define FIRST_FOR_SEAT true
#else
#define FIRST_FOR_MUTEX (!(BEFORE(0) || BEFORE(1)))
#define FIRST_FOR_SEAT (!(BEFORE(0) && forSeat[0] || BEFORE(1) && forSeat[1] || BEFORE(2) && forSeat[2]))
#endif

#ifdef FOREVER
#define ENDLESS(i) (i == 0)
#else
#define ENDLESS(i) false
#endif

inline stand() { forSeat[i] = wants }

/* Behind: another run is first in a queue in which this one stands. */
inline behind() {
	isBehind = false; atSeat = false;
	if
	:: NEEDS_MUTEX(i) && !FIRST_FOR_MUTEX -> isBehind = true
	:: else ->
		if
		:: forSeat[i] && !FIRST_FOR_SEAT -> isBehind = true; atSeat = true
		:: else
		fi
	fi
}

/* Acquire: the mutex and then a seat, or nothing. Lacks is what it lacks then. */
inline try() {
	lacksSeat = false;
	atomic {
#ifdef NO_TAKEN
		taken = false;
#else
		taken = !forSeat[i] && !FIRST_FOR_SEAT; /* others wait for seats */
#endif
		if
		:: NEEDS_MUTEX(i) && mutex == NOBODY -> mutex = i; got = true
		:: NEEDS_MUTEX(i) && mutex != NOBODY -> got = (mutex == i)
		:: !NEEDS_MUTEX(i) -> got = true
		fi
	}
	if
	:: got ->
		atomic {
			if
			:: !taken && seat == NOBODY -> seat = i; is[i] = GOES_ON; forSeat[i] = false;
				assert(!NEEDS_MUTEX(i) || mutex == i)
			:: taken || seat != NOBODY -> lacksSeat = true
#ifndef KEEPS_MUTEX
				; if :: mutex == i -> mutex = NOBODY :: else fi
#endif
			fi
		}
	:: !got
	fi;
	taken = false; got = false
}

proctype waiter(byte i) {
	bool wants, isBehind, atSeat, lacksSeat, taken, got;
begin:
	{ do
	  :: atomic { is[i] == OUT ->
		is[i] = WAITS; forSeat[i] = !NEEDS_MUTEX(i);
		before[3 * i] = false; before[3 * i + 1] = false; before[3 * i + 2] = false;
		before[i] = (i != 0 && is[0] == WAITS); before[3 + i] = (i != 1 && is[1] == WAITS); before[6 + i] = (i != 2 && is[2] == WAITS);
		wants = forSeat[i] }
	  :: is[i] == WAITS ->
		atomic { stand() behind() }
		if
		:: isBehind -> lacksSeat = atSeat
		:: !isBehind -> try()
		fi;
		/* queues */
		atomic {
#ifdef STANDS_ALWAYS
			wants = true;
#else
			wants = !NEEDS_MUTEX(i) || lacksSeat;
#endif
			isBehind = false; atSeat = false; lacksSeat = false }
	  :: atomic { is[i] == GOES_ON && !ENDLESS(i) -> seat = NOBODY; if :: mutex == i -> mutex = NOBODY :: else fi; is[i] = OUT; }
	  od
	} unless { !live[i] }
	/* The kernel dropped its locks. A later tick may have another process go on. */
	atomic { isBehind = false; atSeat = false; lacksSeat = false; taken = false; got = false; wants = forSeat[i] }
	if
	:: live[i] = true; goto begin
	:: true
	fi
}

active proctype killer() {
	byte n;
	do
	:: atomic { kills == 0 ->
#ifndef NO_DROP
		if :: mutex == n -> mutex = NOBODY :: else fi;
		if :: seat == n -> seat = NOBODY :: else fi;
#endif
		live[n] = false; kills = 1; if :: is[n] == GOES_ON -> is[n] = OUT :: else fi }
	:: kills == 0 -> break
	:: kills == 1 -> break
	od
}

init {
	atomic {
#ifdef FOREVER
		is[0] = GOES_ON; mutex = 0;
#endif
#ifndef KILLED
		kills = 1;
#endif
		run waiter(0); run waiter(1); run waiter(2)
	}
}

ltl at_last { [] ((is[OF] == WAITS && live[OF]) -> <> (is[OF] == GOES_ON || !live[OF])) }
