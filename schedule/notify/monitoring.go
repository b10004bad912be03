package notify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// The first half of this file is about the check-ins of Sentry Crons
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

// The rest of this file is about traces. A run is a trace with a span of its own, and one for each
// attempt below it. The ids are made from the id of the run, so every process of the run knows
// them.

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
	statusError  = 2
)

// The JSON of OTLP has 64-bit integers as texts, and leaves out what is zero
// (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding).
type (
	tracesBody struct {
		ResourceSpans []resourceSpans `json:"resourceSpans"`
	}
	resourceSpans struct {
		Resource   resource     `json:"resource"`
		ScopeSpans []scopeSpans `json:"scopeSpans"`
	}
	resource struct {
		Attributes attributes `json:"attributes"`
	}
	scopeSpans struct {
		Scope scope  `json:"scope"`
		Spans []span `json:"spans"`
	}
	scope struct {
		Name string `json:"name"`
	}
	span struct {
		TraceID    string     `json:"traceId"`
		SpanID     string     `json:"spanId"`
		Parent     string     `json:"parentSpanId,omitempty"`
		Name       string     `json:"name"`
		Kind       int        `json:"kind"`
		Start      string     `json:"startTimeUnixNano"`
		End        string     `json:"endTimeUnixNano"`
		Attributes attributes `json:"attributes"`
		Links      []spanLink `json:"links,omitempty"`
		Status     spanStatus `json:"status"`
	}
	spanLink struct {
		TraceID string `json:"traceId"`
		SpanID  string `json:"spanId"`
	}
	spanStatus struct {
		Code    int    `json:"code,omitempty"`
		Message string `json:"message,omitempty"`
	}
	attribute struct {
		Key   string         `json:"key"`
		Value map[string]any `json:"value"`
	}
	attributes []attribute
)

// text adds a text, unless it is empty.
func (a *attributes) text(key, value string) {
	if value != "" {
		*a = append(*a, attribute{key, map[string]any{"stringValue": value}})
	}
}

func (a *attributes) number(key string, value int) {
	*a = append(*a, attribute{key, map[string]any{"intValue": strconv.Itoa(value)}})
}

func (t Target) sendSpan(ctx context.Context, m Message) error {
	u, _ := url.Parse(t.Traces.URL) // Check has seen it
	if !strings.HasSuffix(u.Path, "/v1/traces") {
		u = u.JoinPath("v1/traces")
	}
	body, _ := json.Marshal(m.traces()) // texts and numbers
	return t.do(ctx, http.MethodPost, u.String(), "application/json", string(body))
}

// traces is the message as the span of a run or of an attempt. Its attributes have the names that
// OpenTelemetry gives to programs
// (https://opentelemetry.io/docs/specs/semconv/cli/cli-spans/), and else begin with sched.
func (m Message) traces() tracesBody {
	var of resource
	of.Attributes.text("service.name", m.Schedule)
	of.Attributes.text("host.name", m.Server)
	s := span{TraceID: traceID(m.Run), Start: nanoseconds(m.Started), End: nanoseconds(m.Ended)}
	s.Attributes.text("sched.task", m.Task)
	s.Attributes.text("sched.run", m.Run)
	s.Attributes.text("sched.slot", m.Slot.UTC().Format(time.RFC3339))
	if m.Event == AttemptEnd {
		s.SpanID, s.Parent, s.Name, s.Kind = spanID(m.Run, m.Attempt), spanID(m.Run, 0), m.Program, kindClient
		s.Attributes.number("sched.attempt", m.Attempt)
		s.Attributes.text("process.executable.name", m.Program)
		s.Attributes.number("process.pid", m.PID)
	} else {
		s.SpanID, s.Name, s.Kind = spanID(m.Run, 0), m.Task, kindInternal
		s.Attributes.number("sched.attempts", m.Attempt)
		if m.Cause != "" {
			s.Links = []spanLink{{traceID(m.Cause), spanID(m.Cause, 0)}}
		}
	}
	s.Attributes.text("sched.outcome", m.Outcome)
	if m.ExitCode != nil {
		s.Attributes.number("process.exit.code", *m.ExitCode)
	}
	if m.Outcome != "succeeded" {
		s.Attributes.text("error.type", m.Outcome)
		s.Status = spanStatus{statusError, m.Reason}
	}
	return tracesBody{[]resourceSpans{{of, []scopeSpans{{scope{"sched"}, []span{s}}}}}}
}

// nanoseconds is a time as OTLP has it: since 1970, as a text.
func nanoseconds(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }
