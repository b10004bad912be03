package trigger

import (
	"context"
	"errors"
	"slices"
	"time"

	"sched/schedule/humanize"
	"sched/schedule/state"
	"sched/schedule/view"
)

// --wait waits maxTickWait for a tick, counted from when the run is due. It looks every tickLook.
const (
	maxTickWait = 3 * time.Minute
	tickLook    = 2 * time.Second
)

// errNoTick ends the waiting for a run that only a tick can start.
var errNoTick = errors.New("no tick comes that would start it")

// untilNoTick returns a context that ends with parent, or by errNoTick when the run still waits for
// a tick maxTickWait after it was due, and no ticks come. release ends the looking.
func untilNoTick(parent context.Context, source view.Source, requested state.Row) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	giveUpAt := humanize.Later(source.Now(), requested.Slot).Add(maxTickWait)
	go func() {
		look := time.NewTicker(tickLook)
		defer look.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-look.C:
			}
			if source.Now().After(giveUpAt) && source.TicksMissing() != "" && waitsForTick(ctx, source, requested.ID) {
				cancel(errNoTick)
			}
		}
	}()
	return ctx, func() { cancel(nil) }
}

// waitsForTick reports whether no process watches the run until a tick starts its next attempt.
func waitsForTick(ctx context.Context, source view.Source, run string) bool {
	all, err := source.Records(ctx)
	if err != nil {
		return false
	}
	defer all.Close()
	return slices.ContainsFunc(all.Live, func(row state.Row) bool {
		return row.ID == run && row.Phase == state.Waiting
	})
}
