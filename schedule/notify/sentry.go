package notify

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strings"
	"time"
)

// This file is about the check-ins of Sentry Crons
// (https://develop.sentry.dev/sdk/telemetry/check-ins/). A check-in makes or updates the monitor of
// the task, so that nobody has to make it by hand.

// checkDSN checks the DSN of a project: https://KEY@HOST/PROJECT.
func (t Target) checkDSN(dsn string) error {
	u, err := url.Parse(dsn)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User.Username() == "" || !isProject(path.Base(u.Path)) {
		return t.permanent("the DSN is not one of Sentry", "copy it from the settings of the project in Sentry: https://KEY@HOST/PROJECT")
	}
	return nil
}

var isProject = regexp.MustCompile(`^[0-9]+$`).MatchString

// A checkIn is what Sentry gets. The start and the end of a run have one id.
type checkIn struct {
	ID       string         `json:"check_in_id"`
	Monitor  string         `json:"monitor_slug"`
	Status   string         `json:"status"`
	Duration float64        `json:"duration,omitempty"` // seconds
	Config   *monitorConfig `json:"monitor_config,omitempty"`
}

type monitorConfig struct {
	Schedule   monitorSchedule `json:"schedule"`
	Margin     int             `json:"checkin_margin"`        // minutes
	MaxRuntime int             `json:"max_runtime,omitempty"` // minutes
	Timezone   string          `json:"timezone"`
}

type monitorSchedule struct {
	Type  string `json:"type"`
	Value string `json:"value"`
}

func (t Target) sendCheckIn(ctx context.Context, m Message) error {
	u, _ := url.Parse(t.Sentry.DSN) // Check has seen it
	key, project := u.User.Username(), path.Base(u.Path)
	to := url.URL{Scheme: u.Scheme, Host: u.Host, Path: path.Join("/", path.Dir(u.Path), "api", project, "envelope") + "/",
		RawQuery: url.Values{"sentry_key": {key}, "sentry_version": {"7"}}.Encode()}
	body, _ := json.Marshal(t.Sentry.checkIn(m)) // texts and numbers
	envelope := "{}\n{\"type\":\"check_in\"}\n" + string(body) + "\n"
	return t.do(ctx, http.MethodPost, to.String(), "application/x-sentry-envelope", envelope)
}

func (s *Sentry) checkIn(m Message) checkIn {
	c := checkIn{ID: traceID(m.Run), Monitor: slug(m.Schedule, m.Task), Status: "error", Duration: m.Duration.Seconds()}
	switch {
	case m.Event == Start:
		c.Status = "in_progress"
	case m.Outcome == "succeeded":
		c.Status = "ok"
	}
	if expected := s.Monitor; expected != nil {
		c.Config = &monitorConfig{monitorSchedule{"crontab", expected.Cron}, minutes(expected.Margin), minutes(expected.Longest), expected.Zone}
	}
	return c
}

// minutes returns whole minutes, rounded up.
func minutes(d time.Duration) int { return int((d + time.Minute - 1) / time.Minute) }

// longestSlug is how long a slug of Sentry may be.
const longestSlug = 50

// slug names the monitor of a task in the characters that Sentry takes. If it must be cut, a hash
// keeps it apart from others.
func slug(schedule, task string) string {
	name := strings.Trim(schedule+"-"+task, "-")
	made := notInSlugs.ReplaceAllString(strings.ToLower(name), "-")
	if len(made) > longestSlug {
		made = made[:longestSlug-9] + "-" + hashID(name)[:8]
	}
	return made
}

var notInSlugs = regexp.MustCompile(`[^a-z0-9_-]+`)
