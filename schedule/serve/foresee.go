package serve

import (
	"context"
	"errors"
	"sync"
	"time"

	"sched/schedule/forecast"
	"sched/schedule/yamldoc"
)

func getForecast(r *Visit) (any, error) {
	since, until, length := r.query.times["since"], r.query.times["until"], r.query.Get("for")
	made, err := r.Forecast(since, until, length)
	if err != nil {
		return nil, err
	}
	return made.JSON(), nil
}

// usualForecast is how long a forecast is by default, as for `sched forecast`.
const usualForecast = 7 * 24 * time.Hour

// Forecast returns a forecast to a time, or of a length as people write it; usualForecast if both
// are empty. If from is zero, the forecast begins with this hour, so all requests of one hour get
// the same forecast.
func (r *Visit) Forecast(from, until time.Time, length string) (made forecast.Report, err error) {
	if from.IsZero() {
		from = r.server.Now().Truncate(time.Hour)
	}
	span := usualForecast
	switch {
	case !until.IsZero() && (length != "" || !until.After(from)):
		return made, badRequest("", "until is not after since, or there is for, too")
	case !until.IsZero():
		span = until.Sub(from)
	case length != "":
		if span, err = yamldoc.ParseDuration(length); err != nil {
			return made, badRequest("write it as 12h or 7d", "for %q is not a duration", Shortened(length))
		}
	}
	select {
	case cache := <-r.server.forecasts:
		made, err = cache.Report(r.Context(), r.View, from.UTC(), span)
		r.server.forecasts <- cache
	case <-r.Context().Done():
		err = r.Context().Err()
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return made, unavailable("ask for a shorter time, or `sched forecast`", "it took longer than %s", longestAnswer)
	}
	return made, err
}

// mostForecasts is how many forecasts are made at the same time. The long forecasts of one caller
// leave room for the forecasts of another.
const mostForecasts = 2

// newForecasts returns the caches that make forecasts. Each has the last forecast that it made.
func newForecasts() chan *forecast.Cache {
	all := make(chan *forecast.Cache, mostForecasts)
	for range mostForecasts {
		all <- &forecast.Cache{}
	}
	return all
}

// turns lets each caller have one forecast made at a time. It has a channel with room for one, by
// the name of the caller: callers are few, and are not forgotten.
type turns struct{ all sync.Map }

// take waits until the caller has no other forecast made. The caller of take must call leave.
func (t *turns) take(ctx context.Context, caller string) (leave func(), err error) {
	turn, _ := t.all.LoadOrStore(caller, make(chan struct{}, 1))
	taken := turn.(chan struct{})
	select {
	case taken <- struct{}{}:
		return func() { <-taken }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
