package notify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// This file has the traces of OpenTelemetry. A run is a trace with a span of its own, and one for
// each attempt below it. The ids are made from the id of the run, so every process of the run knows
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

func (t Target) sendSpan(ctx context.Context, m Message) error {
	u, _ := url.Parse(t.OTLP) // Check has seen it
	if !strings.HasSuffix(u.Path, "/v1/traces") {
		u = u.JoinPath("v1/traces")
	}
	body, _ := json.Marshal(m.traces()) // texts and numbers
	return t.do(ctx, http.MethodPost, u.String(), "application/json", string(body))
}

// traces is the message as the span of a run or of an attempt. Its attributes have the names that
// OpenTelemetry gives to programs
// (https://opentelemetry.io/docs/specs/semconv/cli/cli-spans/), and else begin with sched.
func (m Message) traces() object {
	var ofSender, ofSpan attributes
	ofSender.text("service.name", m.Schedule)
	ofSender.text("host.name", m.Server)
	ofSpan.text("sched.task", m.Task)
	ofSpan.text("sched.run", m.Run)
	ofSpan.text("sched.slot", m.Slot.UTC().Format(time.RFC3339))
	span := object{
		"traceId": traceID(m.Run), "startTimeUnixNano": nanoseconds(m.Started), "endTimeUnixNano": nanoseconds(m.Ended),
		"status": object{},
	}
	if m.Event == AttemptEnd {
		span["spanId"], span["parentSpanId"] = spanID(m.Run, m.Attempt), spanID(m.Run, 0)
		span["name"], span["kind"] = m.Program, kindClient
		ofSpan.number("sched.attempt", m.Attempt)
		ofSpan.text("process.executable.name", m.Program)
		ofSpan.number("process.pid", m.PID)
	} else {
		span["spanId"], span["name"], span["kind"] = spanID(m.Run, 0), m.Task, kindInternal
		ofSpan.number("sched.attempts", m.Attempt)
		if m.Cause != "" {
			span["links"] = []object{{"traceId": traceID(m.Cause), "spanId": spanID(m.Cause, 0)}}
		}
	}
	ofSpan.text("sched.outcome", m.Outcome)
	if m.ExitCode != nil {
		ofSpan.number("process.exit.code", *m.ExitCode)
	}
	if m.Outcome != "succeeded" {
		ofSpan.text("error.type", m.Outcome)
		status := object{"code": statusError}
		if m.Reason != "" {
			status["message"] = m.Reason
		}
		span["status"] = status
	}
	span["attributes"] = ofSpan
	scopeSpans := object{"scope": object{"name": "sched"}, "spans": []object{span}}
	resourceSpans := object{"resource": object{"attributes": ofSender}, "scopeSpans": []object{scopeSpans}}
	return object{"resourceSpans": []object{resourceSpans}}
}

// nanoseconds is a time as OTLP has it: since 1970, as a text.
func nanoseconds(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }
