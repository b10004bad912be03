package serve

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"sched/schedule/forecast"
	"sched/schedule/yamldoc"
)

func getForecast(r *request) (any, error) {
	since, serr := r.time("since")
	until, uerr := r.time("until")
	if err := cmp.Or(serr, uerr); err != nil {
		return nil, err
	}
	length := r.URL.Query().Get("for")
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
	made, err := r.forecast(since, length)
	if err != nil {
		return nil, err
	}
	return made.JSON(), nil
}

func (r *request) thisHour() time.Time { return r.server.Now().Truncate(time.Hour) }

// usualForecast is how long a forecast is by default, as for `sched forecast`.
const usualForecast = 7 * 24 * time.Hour

// forecast returns a forecast of a span, as people write it; empty: usualForecast. If from is zero,
// the forecast begins with this hour, so all requests of one hour get the same forecast.
func (r *request) forecast(from time.Time, length string) (forecast.Report, error) {
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
	made, err := r.server.forecasts.Report(r.Context(), r.view, from.UTC(), span)
	if errors.Is(err, context.DeadlineExceeded) {
		return made, NewProblem(http.StatusServiceUnavailable, "ask for a shorter time, or `sched forecast`", "it took longer than %s", longestAnswer)
	}
	return made, err
}
