package serve

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"sched/schedule/forecast"
	"sched/schedule/yamldoc"
)

func getForecast(r *Visit) (any, error) {
	since, until, length := r.query.times["since"], r.query.times["until"], r.query.Get("for")
	if !until.IsZero() {
		begin := since
		if begin.IsZero() {
			begin = r.thisHour()
		}
		if length != "" || !until.After(begin) {
			return nil, NewProblem(http.StatusBadRequest, "", "until is not after since, or there is for, too")
		}
		length = until.Sub(begin).String()
	}
	made, err := r.Forecast(since, length)
	if err != nil {
		return nil, err
	}
	return made.JSON(), nil
}

func (r *Visit) thisHour() time.Time { return r.server.Now().Truncate(time.Hour) }

// usualForecast is how long a forecast is by default, as for `sched forecast`.
const usualForecast = 7 * 24 * time.Hour

// Forecast returns a forecast of a span, as people write it; empty: usualForecast. If from is zero,
// the forecast begins with this hour, so all requests of one hour get the same forecast.
func (r *Visit) Forecast(from time.Time, length string) (forecast.Report, error) {
	span := usualForecast
	if length != "" {
		var err error
		if span, err = yamldoc.ParseDuration(length); err != nil {
			return forecast.Report{}, NewProblem(http.StatusBadRequest, "write it as 12h or 7d", "for %q is not a duration", Shortened(length))
		}
	}
	if from.IsZero() {
		from = r.thisHour()
	}
	var made forecast.Report
	var err error
	select {
	case cache := <-r.server.forecasts:
		made, err = cache.Report(r.Context(), r.View, from.UTC(), span)
		r.server.forecasts <- cache
	case <-r.Context().Done():
		err = r.Context().Err()
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return made, NewProblem(http.StatusServiceUnavailable, "ask for a shorter time, or `sched forecast`", "it took longer than %s", longestAnswer)
	}
	return made, err
}

// mostForecasts is how many forecasts are made at the same time. The long forecasts of one caller
// leave room for the forecasts of another.
const mostForecasts = 2

// newForecasts returns what makes them. Each cache has the last forecast that it made.
func newForecasts() chan *forecast.Cache {
	all := make(chan *forecast.Cache, mostForecasts)
	for range mostForecasts {
		all <- forecast.NewCache()
	}
	return all
}

// turns lets each caller have one forecast made at a time.
type turns struct {
	mu  sync.Mutex
	all map[string]*turn // of the callers who have asked
}

type turn struct {
	taken chan struct{}
	asked int // how many requests have it, or wait for it
}

// take waits until the caller has no other forecast made. The caller of take must call leave.
func (t *turns) take(ctx context.Context, caller string) (leave func(), err error) {
	t.mu.Lock()
	if t.all == nil {
		t.all = map[string]*turn{}
	}
	one := t.all[caller]
	if one == nil {
		one = &turn{taken: make(chan struct{}, 1)}
		t.all[caller] = one
	}
	one.asked++
	t.mu.Unlock()
	forget := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if one.asked--; one.asked == 0 {
			delete(t.all, caller)
		}
	}
	select {
	case one.taken <- struct{}{}:
		return func() { <-one.taken; forget() }, nil
	case <-ctx.Done():
		forget()
		return nil, ctx.Err()
	}
}
