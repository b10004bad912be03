package runner

import (
	"slices"

	"sched/schedule/history"
	"sched/schedule/runfile"
)

// Finished puts the finished runs of the state folder into the history, for those who want to read
// it; lost runs are left to the next tick. It returns the runs that live, also those that wait for their
// next attempt (Log.Waiting), and those that are lost.
func Finished(state string) (live []runfile.State, lost []runfile.State, err error) {
	live, lost, ended, err := survey(state)
	if err != nil || len(ended) == 0 {
		return live, lost, err
	}
	var done []finished
	for _, record := range ended {
		done = append(done, finished{record, state, false})
	}
	err = putAway(State{Dir: state}, done, func(*history.DB) error { return nil })
	if err != nil {
		return live, lost, err
	}
	// A background run that failed keeps its file: the next tick has yet to tell of it.
	told := slices.DeleteFunc(done, func(f finished) bool { return f.Background && f.Outcome.Failure() })
	return live, lost, clean(told, func(finished) {})
}
