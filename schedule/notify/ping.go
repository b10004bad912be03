package notify

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxPingOutput is how many bytes of output a ping carries. healthchecks.io keeps 100 kB; a server
// that people host themselves keeps the first 10 kB unless configured otherwise. A longer text
// would lose its end, which matters most.
const maxPingOutput = 10_000

func (t Target) sendPing(ctx context.Context, m Message) error {
	u, _ := url.Parse(t.Ping.URL) // Check has seen it
	method, body := http.MethodGet, ""
	if t.Ping.Protocol {
		var signal string
		signal, body = m.signal()
		u = withSignal(u, signal, m.Run)
		body = tail(body, maxPingOutput) // byte for byte as it was printed
	}
	if body != "" {
		method = http.MethodPost
	}
	r, err := http.NewRequest(method, u.String(), strings.NewReader(body))
	if err != nil {
		return t.permanent("the URL is none", "")
	}
	if body != "" {
		r.Header.Set("Content-Type", contentType(body))
	}
	return t.do(ctx, r)
}

// contentType is the type of an output. Whether the output is UTF-8 depends on the command that
// printed it.
func contentType(body string) string {
	if utf8.ValidString(body) {
		return "text/plain; charset=utf-8"
	}
	return "application/octet-stream"
}

// signal is the message in the pinging API (https://healthchecks.io/docs/http_api/). It is the last
// part of the path, empty for a success, and the body. The body is the output. If the path cannot
// say what happened, the body begins with a line that does.
func (m Message) signal() (signal, body string) {
	switch {
	case m.Event == Start:
		return "start", ""
	case m.Event == Skip, m.Outcome == "skipped":
		return "log", m.headline() // the API shows it, and leaves the state of the check
	case m.Event == Success, m.Event == Recovery, m.Outcome == "succeeded":
		return "", m.Output
	case m.Outcome == "failed" && m.ExitCode != nil && *m.ExitCode > 0 && *m.ExitCode <= 255:
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
	if signal != "" {
		u = u.JoinPath(signal)
	}
	if run != "" && !u.Query().Has("rid") {
		query := "rid=" + url.QueryEscape(run)
		if u.RawQuery != "" {
			query = u.RawQuery + "&" + query
		}
		with := *u
		with.RawQuery = query
		u = &with
	}
	return u
}
