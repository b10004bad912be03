package notify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
)

// This file has the messages for services that watch runs: pings, the check-ins of Sentry Crons,
// and the traces of OpenTelemetry.

// maxPingOutput is how many bytes of output a ping carries. healthchecks.io keeps 100 kB; a server
// that people host themselves keeps the first 10 kB unless configured otherwise. A longer text
// would lose its end, which matters most.
const maxPingOutput = 10_000

func sendPing(ctx context.Context, t Target, m Message) error {
	u, _ := url.Parse(t.Ping) // Check has seen it
	if t.On == nil {
		// Without on, a ping says only that an event happened.
		return doHTTP(ctx, t, http.MethodGet, u.String(), "", "")
	}
	signal, body := pingSignal(m)
	u = withSignal(u, signal, m.Run)
	if body == "" {
		return doHTTP(ctx, t, http.MethodGet, u.String(), "", "")
	}
	body = tail(body, maxPingOutput) // byte for byte as it was printed
	return doHTTP(ctx, t, http.MethodPost, u.String(), contentType(body), body)
}

// contentType is the type of an output. Whether the output is UTF-8 depends on the command that
// printed it.
func contentType(body string) string {
	if utf8.ValidString(body) {
		return "text/plain; charset=utf-8"
	}
	return "application/octet-stream"
}

// pingSignal returns the message as the pinging API (https://healthchecks.io/docs/http_api/) takes
// it: the last part of the path (empty for a success) and the body, which is the output. If the
// path cannot say what happened, the body begins with a line that does.
func pingSignal(m Message) (signal, body string) {
	switch {
	case m.Event == Start:
		return "start", ""
	case m.Event == Success, m.Event == Recovery, m.Outcome == outcome.Succeeded:
		return "", m.Output
	case m.Outcome == outcome.Failed && m.ExitCode != nil && *m.ExitCode > 0 && *m.ExitCode <= 255:
		return strconv.Itoa(*m.ExitCode), m.Output // 0 may be a failure here (success_codes), but not in the API
	}
	if m.Output == "" {
		return "fail", m.headline()
	}
	return "fail", m.headline() + "\n\n" + m.Output
}

// withSignal returns the URL for a signal. The run's id, as the parameter rid, lets the other side
// match start and end. If the URL has a rid already, that stays.
func withSignal(u *url.URL, signal, run string) *url.URL {
	address := *u
	if signal != "" {
		address = *u.JoinPath(signal)
	}
	if run != "" && !u.Query().Has("rid") {
		address.RawQuery = strings.TrimPrefix(u.RawQuery+"&rid="+url.QueryEscape(run), "&")
	}
	return &address
}

// A check-in of Sentry (https://develop.sentry.dev/sdk/telemetry/check-ins/) makes or updates the
// monitor of the task, so that nobody has to make it by hand.

// checkDSN checks the DSN of a project: https://KEY@HOST/PROJECT.
func checkDSN(t Target) error {
	u, err := url.Parse(t.Sentry)
	isDSN := err == nil && (u.Scheme == "http" || u.Scheme == "https") &&
		u.Hostname() != "" && u.User.Username() != "" && isProject().MatchString(path.Base(u.Path))
	if !isDSN {
		return t.permanent("the DSN is not one of Sentry",
			"copy it from the settings of the project in Sentry: https://KEY@HOST/PROJECT")
	}
	return nil
}

var isProject = humanize.Pattern(`^[0-9]+$`)

// sendCheckIn sends the message as a check-in to the Sentry of the target.
func sendCheckIn(ctx context.Context, t Target, m Message) error {
	u, _ := url.Parse(t.Sentry) // Check has seen it
	key, project := u.User.Username(), path.Base(u.Path)
	to := url.URL{
		Scheme:   u.Scheme,
		Host:     u.Host,
		Path:     path.Join("/", path.Dir(u.Path), "api", project, "envelope") + "/",
		RawQuery: url.Values{"sentry_key": {key}, "sentry_version": {"7"}}.Encode(),
	}
	body, _ := json.Marshal(checkIn(t, m)) // texts and numbers
	envelope := "{}\n{\"type\":\"check_in\"}\n" + string(body) + "\n"
	return doHTTP(ctx, t, http.MethodPost, to.String(), "application/x-sentry-envelope", envelope)
}

// checkIn is what Sentry gets. The start and the end of a run have one id.
func checkIn(t Target, m Message) object {
	c := object{"check_in_id": traceID(m.Run), "monitor_slug": slug(m.Schedule, m.Task), "status": "error"}
	switch {
	case m.Event == Start:
		c["status"] = "in_progress"
	case m.Outcome == outcome.Succeeded:
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

// maxSlug is how long a slug of Sentry may be.
const maxSlug = 50

// slug names the monitor of a task in the characters that Sentry takes: it makes one dash of
// several, and takes dashes and underscores from both ends. If it must be cut, a hash keeps it
// apart from others.
func slug(scheduleName, task string) string {
	name := strings.Trim(scheduleName+"-"+task, "-")
	made := strings.Trim(notInSlugs().ReplaceAllString(strings.ToLower(name), "-"), "-_")
	if len(made) > maxSlug {
		made = made[:maxSlug-9] + "-" + hashID(name)[:8]
	}
	return made
}

var notInSlugs = humanize.Pattern(`[^a-z0-9_]+`)

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

// A run is a trace of OpenTelemetry: a span for the run, and below it a span for each attempt. The
// ids are made from the id of the run, so every process of the run knows them.

// TraceParent returns the variable TRACEPARENT of the command of an attempt, as
// https://www.w3.org/TR/trace-context/ has it: the command's spans come below that span.
func TraceParent(run string, attempt int) string {
	return "00-" + traceID(run) + "-" + spanID(run, attempt) + "-01"
}

// traceID is the id of a run without its dashes: both are 16 bytes.
func traceID(run string) string { return strings.ReplaceAll(run, "-", "") }

// spanID is the id of the span of an attempt; attempt 0 is the run itself.
func spanID(run string, attempt int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", run, attempt))
	return hex.EncodeToString(sum[:8])
}

// The kinds and the status of spans, as the file trace.proto of OTLP has them.
const (
	kindInternal = 1
	kindClient   = 3 // of a program that another one calls
	codeError    = 2
)

// attributes say more about a span, or about where it comes from. The JSON of OTLP has 64-bit
// integers as texts, and leaves out what is zero
// (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding).
type attributes []object

// text adds a text, unless it is empty.
func (a *attributes) text(key, value string) {
	if value != "" {
		*a = append(*a, object{"key": key, "value": object{"stringValue": value}})
	}
}

func (a *attributes) number(key string, value int) {
	*a = append(*a, object{"key": key, "value": object{"intValue": strconv.Itoa(value)}})
}

// sendSpan sends the message as a span to the collector of the target.
func sendSpan(ctx context.Context, t Target, m Message) error {
	u, _ := url.Parse(t.OTLP) // Check has seen it
	if !strings.HasSuffix(u.Path, "/v1/traces") {
		u = u.JoinPath("v1/traces")
	}
	body, _ := json.Marshal(traces(m)) // texts and numbers
	return doHTTP(ctx, t, http.MethodPost, u.String(), "application/json", string(body))
}

// traces is the message as a trace with one span. It comes from the schedule on the server.
func traces(m Message) object {
	var resource attributes
	resource.text("service.name", m.Schedule)
	resource.text("host.name", m.Server)
	scopeSpans := object{"scope": object{"name": "sched"}, "spans": []object{spanOf(m)}}
	resourceSpans := object{"resource": object{"attributes": resource}, "scopeSpans": []object{scopeSpans}}
	return object{"resourceSpans": []object{resourceSpans}}
}

// spanOf is the message as the span of a run or of an attempt. Its attributes have the names that
// OpenTelemetry gives to programs (https://opentelemetry.io/docs/specs/semconv/cli/cli-spans/); all
// others begin with "sched.".
func spanOf(m Message) object {
	var all attributes
	all.text("sched.task", m.Task)
	all.text("sched.run", m.Run)
	all.text("sched.slot", m.Slot.UTC().Format(time.RFC3339))
	span := object{"traceId": traceID(m.Run), "status": object{},
		"startTimeUnixNano": nanoseconds(m.Started), "endTimeUnixNano": nanoseconds(m.Ended)}
	if m.Event == AttemptEnd {
		span["spanId"], span["parentSpanId"] = spanID(m.Run, m.Attempt), spanID(m.Run, 0)
		span["name"], span["kind"] = m.Program, kindClient
		all.number("sched.attempt", m.Attempt)
		all.text("process.executable.name", m.Program)
		all.number("process.pid", m.PID)
	} else {
		span["spanId"], span["name"], span["kind"] = spanID(m.Run, 0), m.Task, kindInternal
		all.number("sched.attempts", m.Attempt)
		if m.Cause != "" {
			span["links"] = []object{{"traceId": traceID(m.Cause), "spanId": spanID(m.Cause, 0)}}
		}
	}
	all.text("sched.outcome", string(m.Outcome))
	if m.ExitCode != nil {
		all.number("process.exit.code", *m.ExitCode)
	}
	for _, name := range slices.Sorted(maps.Keys(m.Values)) {
		all = append(all, object{"key": "sched.value." + name, "value": object{"doubleValue": m.Values[name]}})
	}
	if m.Outcome != outcome.Succeeded {
		all.text("error.type", string(m.Outcome))
		status := object{"code": codeError}
		if m.Reason != "" {
			status["message"] = m.Reason
		}
		span["status"] = status
	}
	span["attributes"] = all
	return span
}

// nanoseconds is a time as OTLP has it: since 1970, as a text.
func nanoseconds(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }
