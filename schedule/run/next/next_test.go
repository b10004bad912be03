package next

import (
	"slices"
	"testing"
	"time"

	"sched/schedule/outcome"
	"sched/schedule/state"
)

var (
	slot   = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	now    = slot.Add(10 * time.Minute)
	asked  = &state.Stop{By: "ann", Server: "web-1", At: now}
	first  = state.Attempt{Number: 1, At: slot, PID: 4711, PIDStarted: 99}
	noPID  = state.Attempt{Number: 1, At: slot}
	lives  = Facts{Now: now, OwnerLives: true}
	killed = Facts{Now: now}
)

// The manual of crashes: what a tick does with each row that it finds.
func TestNext(t *testing.T) {
	due := func(phase state.Phase) state.Row { return state.Row{Phase: phase, Slot: slot, Scheduled: true} }
	with := func(row state.Row, change func(*state.Row)) state.Row {
		change(&row)
		return row
	}
	but := func(f Facts, change func(*Facts)) Facts {
		change(&f)
		return f
	}
	began := func(row state.Row) state.Row { return with(row, func(r *state.Row) { r.Attempt = first }) }
	stop := func(row state.Row) state.Row { return with(row, func(r *state.Row) { r.Stop = asked }) }
	waits := func(w state.Wait) state.Row { return with(due(state.Waiting), func(r *state.Row) { r.Wait = w }) }
	early, late := now.Add(-time.Minute), now.Add(time.Minute)
	once := but(killed, func(f *Facts) { f.Missed, f.Within = MissedOnce, time.Hour })
	all := but(killed, func(f *Facts) { f.Missed, f.Within = MissedAll, time.Hour })

	for _, c := range []struct {
		name  string
		row   state.Row
		facts Facts
		want  Step
	}{
		{"what has ended is left alone", began(due(state.Ended)), killed, Step{Do: Nothing}},

		{"its owner is about to start it", due(state.Ready), lives, Step{Do: Nothing}},
		{"its supervisor watches it", began(due(state.Running)), lives, Step{Do: Nothing}},
		{"its command is gone and its supervisor lives: that knows how it ended", began(due(state.Running)), but(lives, func(f *Facts) { f.Lives = false }), Step{Do: Nothing}},
		{"its finish fires its hooks", began(due(state.Finishing)), lives, Step{Do: Nothing}},
		{"its owner was told to stop it, and does", stop(began(due(state.Running))), lives, Step{Do: Nothing}},

		{"the tick was killed before it began: missed", due(state.Ready), killed, Step{Miss, outcome.NotBegun}},
		{"the tick was killed before it began, and missed is once: it runs now", due(state.Ready), once, Step{Do: Start}},
		{"the tick was killed before it began, and missed is once, but it is due again", due(state.Ready), but(once, func(f *Facts) { f.Newer = true }), Step{Miss, outcome.Superseded}},
		{"the tick was killed before it began, and missed is all: it runs now, though it is due again", due(state.Ready), but(all, func(f *Facts) { f.Newer = true }), Step{Do: Start}},
		{"the tick was killed before it began, and missed_within is over", due(state.Ready), but(once, func(f *Facts) { f.Within = time.Minute }), Step{Miss, outcome.NotBegun}},
		{"the tick was killed before a run began that somebody asked for: it runs now", with(due(state.Ready), func(r *state.Row) { r.Scheduled = false }), killed, Step{Do: Start}},
		{"the tick was killed before it began, and somebody asked to stop it", stop(due(state.Ready)), once, Step{Stop, outcome.Asked}},
		{"the machine went down before it began: as if the tick was killed", due(state.Ready), but(killed, func(f *Facts) { f.Rebooted = true }), Step{Miss, outcome.NotBegun}},

		{"the supervisor was killed between two attempts: the next one comes at its time", began(due(state.Ready)), killed, Step{Do: RunAgain}},
		{"the machine went down between two attempts: the next one comes at its time", began(due(state.Ready)), but(killed, func(f *Facts) { f.Rebooted = true }), Step{Do: RunAgain}},
		{"the supervisor was killed between two attempts, and somebody asked to stop it", stop(began(due(state.Ready))), killed, Step{Stop, outcome.Asked}},

		{"supervisor and witness were killed, and the command lives: adopted", began(due(state.Running)), but(killed, func(f *Facts) { f.Lives = true }), Step{Do: Adopt}},
		{"supervisor and witness were killed, and the command lives that somebody asked to stop: adopted, to stop it", stop(began(due(state.Running))), but(killed, func(f *Facts) { f.Lives = true }), Step{Do: Adopt}},
		{"supervisor, witness and command were killed: lost", began(due(state.Running)), killed, Step{Lose, outcome.Vanished}},
		{"supervisor, witness and command were killed, and lost runs are retried: the next attempt", began(due(state.Running)), but(killed, func(f *Facts) { f.RetryLost = true }), Step{RunAgain, outcome.Vanished}},
		{"supervisor, witness and command were killed, and somebody had asked to stop it: no further attempt", stop(began(due(state.Running))), but(killed, func(f *Facts) { f.RetryLost = true }), Step{Stop, outcome.Asked}},
		{"killed between the commit and the pid, and a process has the id of the run: adopted", with(due(state.Running), func(r *state.Row) { r.Attempt = noPID }), but(killed, func(f *Facts) { f.Lives = true }), Step{Do: Adopt}},
		{"killed between the commit and the pid, and no process has the id of the run: lost", with(due(state.Running), func(r *state.Row) { r.Attempt = noPID }), killed, Step{Lose, outcome.Vanished}},
		{"the machine went down: lost", began(due(state.Running)), but(killed, func(f *Facts) { f.Rebooted = true }), Step{Lose, outcome.Rebooted}},
		{"the machine went down, and another process has the pid now: lost", began(due(state.Running)), but(killed, func(f *Facts) { f.Rebooted, f.Lives = true, true }), Step{Lose, outcome.Rebooted}},
		{"the machine went down, and lost runs are retried: the next attempt", began(due(state.Running)), but(killed, func(f *Facts) { f.Rebooted, f.RetryLost = true, true }), Step{RunAgain, outcome.Rebooted}},

		{"finish was killed: its hooks go on", began(due(state.Finishing)), killed, Step{Do: FireHooks}},
		{"finish was killed of a run that somebody wants to stop: its hooks go on, as it was", stop(began(due(state.Finishing))), killed, Step{Do: FireHooks}},
		{"the machine went down while hooks were fired: they go on", began(due(state.Finishing)), but(killed, func(f *Facts) { f.Rebooted, f.RetryLost = true, true }), Step{Do: FireHooks}},
		{"a skip was killed while its hooks were fired: they go on", due(state.Finishing), killed, Step{Do: FireHooks}},

		{"somebody asked for it, and it waits for a tick", with(due(state.Waiting), func(r *state.Row) { r.Scheduled = false }), killed, Step{Do: Start}},
		{"its next attempt is not due yet", began(waits(state.Wait{For: state.ForTime, NotBefore: late})), killed, Step{Do: Nothing}},
		{"its next attempt is due", began(with(waits(state.Wait{For: state.ForTime, NotBefore: early}), func(r *state.Row) { r.Attempt = first })), killed, Step{Do: RunAgain}},
		{"its next attempt is due at this very moment", began(waits(state.Wait{For: state.ForTime, NotBefore: now})), killed, Step{Do: RunAgain}},
		{"it waits for its mutex: this tick tries", waits(state.Wait{For: state.ForMutex, Since: early, Until: late}), killed, Step{Do: Start}},
		{"it has waited for its mutex for long enough", waits(state.Wait{For: state.ForMutex, Since: slot, Until: early}), killed, Step{Skip, outcome.WaitedTooLong}},
		{"it has waited for a seat until this very moment: this tick tries once more", waits(state.Wait{For: state.ForSeat, Since: slot, Until: now}), killed, Step{Do: Start}},
		{"the pause is as long as missed_within", waits(state.Wait{For: state.ForPause, Until: early}), killed, Step{Skip, outcome.Paused}},
		{"the store is down as long as the slot may wait", waits(state.Wait{For: state.ForStore, Until: early}), killed, Step{Skip, outcome.StoreDown}},
		{"its next attempt found the mutex held for a day: it ends as its last attempt did", began(waits(state.Wait{For: state.ForMutex, Until: early})), killed, Step{GiveUp, outcome.ExitCode}},
		{"somebody asked to stop what waits", stop(waits(state.Wait{For: state.ForMutex, Until: late})), killed, Step{Stop, outcome.Asked}},
		{"somebody asked to stop what waits, and its time is over: stopped", stop(waits(state.Wait{For: state.ForMutex, Until: early})), killed, Step{Stop, outcome.Asked}},
		{"somebody asked to stop what is not due yet: stopped at once", stop(began(waits(state.Wait{For: state.ForTime, NotBefore: late}))), killed, Step{Stop, outcome.Asked}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Next(c.row, c.facts); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

// Whatever a row and the facts are, a row that somebody is responsible for is left alone, and
// nothing that ran is called skipped or missed.
func TestNoStepContradictsWhatHappened(t *testing.T) {
	yesNo := []bool{false, true}
	for _, phase := range []state.Phase{state.Waiting, state.Ready, state.Running, state.Finishing, state.Ended} {
		for _, attempt := range []int{0, 1} {
			for _, stop := range []*state.Stop{nil, asked} {
				for _, scheduled := range yesNo {
					for _, missed := range []Missed{MissedNone, MissedOnce, MissedAll} {
						for bits := range 1 << 6 {
							bit := func(n int) bool { return bits>>n&1 == 1 }
							row := state.Row{Phase: phase, Slot: slot, Scheduled: scheduled, Stop: stop, Attempt: state.Attempt{Number: attempt}}
							if bit(0) {
								row.Wait.Until = now.Add(-time.Second)
							}
							facts := Facts{Now: now, OwnerLives: bit(1), Lives: bit(2), Rebooted: bit(3), RetryLost: bit(4), Newer: bit(5), Missed: missed, Within: time.Hour}
							step := Next(row, facts)
							owned := phase == state.Ready || phase == state.Running || phase == state.Finishing
							switch {
							case (phase == state.Ended || owned && facts.OwnerLives) && step.Do != Nothing:
								t.Errorf("%+v, %+v: %v, though it is not ours", row, facts, step)
							case owned && !facts.OwnerLives && step.Do == Nothing:
								t.Errorf("%+v, %+v: nobody goes on with it", row, facts)
							case attempt > 0 && (step.Do == Skip || step.Do == Miss || step.Do == Start):
								t.Errorf("%+v, %+v: %v, though it ran", row, facts, step)
							case attempt > 0 && phase == state.Finishing && step.Do != Nothing && step.Do != FireHooks:
								t.Errorf("%+v, %+v: %v, though its outcome is known", row, facts, step)
							}
						}
					}
				}
			}
		}
	}
}

func TestBackfill(t *testing.T) {
	slots := []time.Time{now.Add(-3 * time.Hour), now.Add(-2 * time.Hour), now.Add(-time.Hour)}
	for _, c := range []struct {
		name   string
		missed Missed
		within time.Duration
		due    bool
		run    int // how many of the newest
	}{
		{"missed slots are recorded", MissedNone, 24 * time.Hour, false, 0},
		{"once runs for the newest", MissedOnce, 24 * time.Hour, false, 1},
		{"once does not run twice in one minute", MissedOnce, 24 * time.Hour, true, 0},
		{"once runs for none that is too old", MissedOnce, 59 * time.Minute, false, 0},
		{"a slot may be as old as missed_within", MissedOnce, time.Hour, false, 1},
		{"all runs for each", MissedAll, 24 * time.Hour, false, 3},
		{"all runs for each, though it is due now", MissedAll, 24 * time.Hour, true, 3},
		{"all runs for those that are not too old", MissedAll, 2 * time.Hour, false, 2},
	} {
		run, lost := Backfill(slots, c.missed, c.within, now, c.due)
		if !slices.Equal(run, slots[3-c.run:]) || !slices.Equal(lost, slots[:3-c.run]) {
			t.Errorf("%s: %d run and %d are missed", c.name, len(run), len(lost))
		}
	}
	if run, lost := Backfill(nil, MissedOnce, time.Hour, now, false); len(run)+len(lost) > 0 {
		t.Error("there was nothing to miss")
	}
}
