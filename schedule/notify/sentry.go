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

	"sched/schedule"
)

// This file has the check-ins of Sentry Crons
// (https://develop.sentry.dev/sdk/telemetry/check-ins/). A check-in makes or updates the monitor of
// the task, so that nobody has to make it by hand.

// checkDSN checks the DSN of a project: https://KEY@HOST/PROJECT.
func (t Target) checkDSN() error {
	u, err := url.Parse(t.Sentry)
	isDSN := err == nil && (u.Scheme == "http" || u.Scheme == "https") &&
		u.Hostname() != "" && u.User.Username() != "" && isProject(path.Base(u.Path))
	if !isDSN {
		return t.permanent("the DSN is not one of Sentry",
			"copy it from the settings of the project in Sentry: https://KEY@HOST/PROJECT")
	}
	return nil
}

var isProject = regexp.MustCompile(`^[0-9]+$`).MatchString

func (t Target) sendCheckIn(ctx context.Context, m Message) error {
	u, _ := url.Parse(t.Sentry) // Check has seen it
	key, project := u.User.Username(), path.Base(u.Path)
	to := url.URL{
		Scheme:   u.Scheme,
		Host:     u.Host,
		Path:     path.Join("/", path.Dir(u.Path), "api", project, "envelope") + "/",
		RawQuery: url.Values{"sentry_key": {key}, "sentry_version": {"7"}}.Encode(),
	}
	body, _ := json.Marshal(t.checkIn(m)) // texts and numbers
	envelope := "{}\n{\"type\":\"check_in\"}\n" + string(body) + "\n"
	return t.do(ctx, http.MethodPost, to.String(), "application/x-sentry-envelope", envelope)
}

// checkIn is what Sentry gets. The start and the end of a run have one id.
func (t Target) checkIn(m Message) object {
	c := object{"check_in_id": traceID(m.Run), "monitor_slug": slug(m.Schedule, m.Task), "status": "error"}
	switch {
	case m.Event == Start:
		c["status"] = "in_progress"
	case m.Outcome == "succeeded":
		c["status"] = "ok"
	}
	if m.Duration > 0 {
		c["duration"] = m.Duration.Seconds()
	}
	if expected := t.Monitor; expected != nil {
		config := object{
			"schedule": object{"type": "crontab", "value": expected.Cron}, "timezone": expected.Zone,
			"checkin_margin": minutes(expected.Margin),
		}
		if expected.Longest > 0 {
			config["max_runtime"] = minutes(expected.Longest)
		}
		c["monitor_config"] = config
	}
	return c
}

// minutes returns whole minutes, rounded up.
func minutes(d time.Duration) int { return int((d + time.Minute - 1) / time.Minute) }

// longestSlug is how long a slug of Sentry may be.
const longestSlug = 50

// slug names the monitor of a task in the characters that Sentry takes: it makes one dash of
// several, and takes dashes and underscores from both ends. If it must be cut, a hash keeps it
// apart from others.
func slug(schedule, task string) string {
	name := strings.Trim(schedule+"-"+task, "-")
	made := strings.Trim(notInSlugs.ReplaceAllString(strings.ToLower(name), "-"), "-_")
	if len(made) > longestSlug {
		made = made[:longestSlug-9] + "-" + hashID(name)[:8]
	}
	return made
}

var notInSlugs = regexp.MustCompile(`[^a-z0-9_]+`)

// SharedMonitors warns of each active task that has the monitor of another task in Sentry, because
// their names differ only in characters that it does not take.
func SharedMonitors(s *schedule.Schedule) (warnings []schedule.Problem) {
	first := map[[2]string]string{} // the task of a monitor of a project
	for t := range s.ActiveTasks() {
		for _, hook := range t.Hooks.After {
			if hook.Notify == nil || hook.Notify.Sentry == "" {
				continue
			}
			monitor := [2]string{hook.Notify.Sentry, slug(s.Name, t.Name)}
			if other := first[monitor]; other != "" && other != t.Name {
				warnings = append(warnings, t.Problem("name", "rename one of the two",
					"it has the monitor %s in Sentry, and so has %s: "+
						"their names differ only in characters that Sentry does not take", monitor[1], other))
			} else {
				first[monitor] = t.Name
			}
		}
	}
	return warnings
}
