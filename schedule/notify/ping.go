package notify

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// pingLimit is how much output goes along with a ping: healthchecks.io keeps 100 kB of it, and one that somebody runs himself
// the first 10 kB, unless told otherwise. More would lose its end, which is what matters.
const pingLimit = 10_000

func (t Target) ping(ctx context.Context, m Message) error {
	u, err := url.Parse(t.Ping.URL)
	if err != nil {
		return t.wrong("the URL is none", "") // Check has seen it
	}
	method, body := http.MethodGet, ""
	if t.Ping.Protocol {
		var signal string
		signal, body = m.signal()
		u = signalled(u, signal, m.Run)
		body = tail(strings.ToValidUTF8(body, "\uFFFD"), pingLimit) // what is not UTF-8 is not kept
	}
	if body != "" {
		method = http.MethodPost
	}
	r, err := http.NewRequest(method, u.String(), strings.NewReader(body))
	if err != nil {
		return t.wrong("the URL is none", "")
	}
	if body != "" {
		r.Header.Set("Content-Type", "text/plain; charset=utf-8")
	}
	return t.do(ctx, r)
}

// signal is what the pinging API of healthchecks.io has for the news: the last part of the path, and the body. The body is the
// output; where the path cannot say what happened, a line that does comes first.
func (m Message) signal() (signal, body string) {
	switch {
	case m.Event == Start:
		return "start", ""
	case m.Event == Skip, m.Outcome == "skipped":
		return "log", m.headline() // tells, and changes nothing
	case m.Event == Success, m.Event == Recovery, m.Outcome == "succeeded":
		return "", m.Output
	case m.Outcome == "failed" && m.ExitCode != nil && *m.ExitCode > 0 && *m.ExitCode <= 255:
		return strconv.Itoa(*m.ExitCode), m.Output // 0 may be a failure here, and never is there
	}
	return "fail", strings.TrimSuffix(m.headline()+"\n\n"+m.Output, "\n\n")
}

// signalled returns the URL of a signal. The run's id lets the other side match start and end.
func signalled(u *url.URL, signal, run string) *url.URL {
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
