/* What the models claim.pml and lease.pml need to be forced to do the steps of a trace. */
c_decl {
#define MOST 6000
enum { E_ASKS, E_ACQUIRE, E_RENEW, E_RELEASE, E_GOT, E_HELD, E_LOST, E_RELEASED, E_UNKNOWN, E_STARTS, E_CLOSES, E_CLOSED, E_FORGETS, E_FORGOT };
static int steps, lease, best;
static int who[MOST], event[MOST], holderOf[MOST], peer[MOST], place[MOST], ms[MOST];
static void readTrace(void) {
	FILE *f = fopen(getenv("TRACE"), "r");
	int i;
	if (!f || fscanf(f, "%d %d", &steps, &lease) != 2 || steps > MOST) exit(3);
	for (i = 0; i < steps; i++)
		if (fscanf(f, "%d %d %d %d %d %d", &who[i], &event[i], &holderOf[i], &peer[i], &place[i], &ms[i]) != 6) exit(3);
	fclose(f);
}
static void arrive(int at) {
	if (at > best) { printf("reached %d\n", best = at); fflush(stdout); }
	if (at == steps) { printf("accepted\n"); exit(0); }
}
static int answerOf(int ask) { return peer[ask] < 0 ? E_UNKNOWN : event[peer[ask]]; }
}
short at; /* steps that were done */
#define NEXT c_code { now.at++; arrive(now.at); }

#ifdef CLAIM
c_decl {
/* Whether a trace can go on in which an answer shows a value, or no answer comes (0). */
static int fits(int me, int ask, int found) {
	int run = (found - 1) / 16;
	if (!found) return answerOf(ask) == E_UNKNOWN;
	switch (answerOf(ask)) {
	case E_HELD: return run == me || holderOf[peer[ask]] == run;
	case E_GOT: return run == me;
	default: return peer[ask] < 0 || run == me;
	}
}
}
bool dead;
#define COMING(what) c_expr { !now.dead && now.at < steps && who[now.at] == Pserver->me && event[now.at] == what }
#define MAY_TRY (!dead && !COMING(E_ASKS) && c_expr { !Pserver->tried || answerOf (Pserver->ask) != E_UNKNOWN })
#define LOSS_BEGINS_OR_ENDS c_expr { now.at < steps && event[now.at] > E_CLOSED }
#define FORGETS c_expr { lossFrom (now.at) }
#define EXPECT(what) if :: what == SET && !c_expr { fits (Pserver->me, Pserver->ask, Pserver->answered ? Pserver->found : 0) } -> dead = true :: else fi
c_decl {
static int lossFrom(int at) {
	while (at-- > 0) if (event[at] == E_FORGETS || event[at] == E_FORGOT) return event[at] == E_FORGETS;
	return 0;
}
}
#endif

#ifdef LEASE
#undef LEASE
#undef MARGIN
#undef NOBODY
#undef RUNS
#define LEASE 1000 /* thousandths of it */
#define MARGIN 250
#define NOBODY 255
#define RUNS 250
#define PLACES 200
#define PENDING 1
#define CARRIED_OUT 2
#define OVER 0
c_decl {
#define SLACK 20 /* ms */
static int age(int at, int held) { return (ms[at] - ms[held - 1]) * 1000 / lease; }
static int mayEnd(int at, int took) { return ms[at] + SLACK >= ms[took - 1] + lease; }
static int mustEnd(int at, int took) { return ms[at - 1] > ms[took] + lease + SLACK; }
static int pick(unsigned char *op, short *ask, int q) { /* the next question that can be carried out, or withdrawn */
	while (++q < 200) if (op[q] == 1 || op[q] == 2 && event[ask[q]] == E_ACQUIRE && answerOf(ask[q]) == E_UNKNOWN) return q;
	return 0;
}
}
byte holder = NOBODY, op[PLACES];
short ask[PLACES], held[RUNS], took, since; /* steps: took, the last one before the lease began; since, before the tenure began */
bool ended, lost, forgets;
#define HAS(i) (holder == i && !ended)
#define FREE (holder == NOBODY || ended)
#define AGE(i) c_expr { age (now.at, now.held[Pmutex->i]) }
#define OTHER c_expr { now.since > peer[now.at] } /* had it since the run took it */
#define MAY_END (holder != NOBODY && !ended && at < c_expr { steps } && c_expr { mayEnd (now.at, now.took) })
#define MUST_END (holder != NOBODY && !ended && c_expr { mustEnd (now.at, now.took) })
#define COMES c_expr { now.at < steps && Pmutex->q == 0 } && !MUST_END
#define FETCH c_code { Pmutex->q = place[now.at]; Pmutex->i = who[now.at]; Pmutex->asked = event[now.at] >= E_GOT && event[now.at] <= E_UNKNOWN ? peer[now.at] + 1 : 0; }
#define IS(what) c_expr { event[now.at] == what }
#define IS_QUESTION c_expr { event[now.at] > E_ASKS && event[now.at] < E_GOT }
#define MORE c_expr { pick (now.op, now.ask, Pmutex->q) }
#define PICK c_code { Pmutex->q = pick(now.op, now.ask, Pmutex->q); }
#define WHO_ASKED c_code { Pmutex->i = who[now.ask[Pmutex->q]]; }
#define ASKS_FOR(what) c_expr { event[now.ask[Pmutex->q]] == what }
#define WAS_HELD c_expr { answerOf (now.ask[Pmutex->q]) == E_HELD }
#define IS_HOLDER c_expr { now.holder == holderOf[peer[now.ask[Pmutex->q]]] }
c_decl {
static int told(int ask, int good, int holder) {
	switch (answerOf(ask)) {
	case E_GOT: return good;
	case E_LOST: return !good && (holderOf[peer[ask]] == -1 || holderOf[peer[ask]] == holder);
	default: return 1;
	}
}
}
#define TOLD c_expr { told (now.ask[Pmutex->q], Pmutex->good, now.holder) }

inline take(i) {
	if :: holder != i -> since = at :: else fi;
	holder = i; ended = false; took = at
}
#endif
