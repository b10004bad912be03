package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

func (t Target) checkHTTP(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		return t.permanent("the URL does not begin with https:// or http:// and a host",
			"write https://HOST/PATH; in a password %40 is @ and %2F is /")
	}
	return nil
}

const maxRedirects = 5

// do makes one request. Nil means that the server has accepted it: its status is 2xx, whatever its
// body is.
func (t Target) do(ctx context.Context, method, address, contentType, body string) error {
	r, err := http.NewRequest(method, address, strings.NewReader(body))
	if err != nil {
		return t.permanent("it is no valid URL", "") // Check has seen it
	}
	r.Header.Set("User-Agent", "sched")
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	client := &http.Client{Transport: newTransport(), CheckRedirect: t.checkRedirect}
	a := beginAttempt(ctx, secretsOf(r.URL))
	response, err := client.Do(r.WithContext(ctx))
	if ours, ok := errors.AsType[*Error](err); ok { // of checkRedirect
		return ours
	}
	if err != nil {
		return t.connectionError(a, err)
	}
	answer := readStart(response.Body)
	if response.StatusCode/100 == 2 {
		return nil
	}
	return t.statusError(response.StatusCode, quotable(answer, a.secrets))
}

// newTransport returns a transport for one request, which keeps no connection.
func newTransport() *http.Transport {
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment,
		OnProxyConnectResponse: func(_ context.Context, _ *url.URL, _ *http.Request, response *http.Response) error {
			if response.StatusCode != http.StatusOK {
				return fmt.Errorf("the proxy answers %s", statusText(response.StatusCode))
			}
			return nil
		},
		DisableKeepAlives:      true,
		ForceAttemptHTTP2:      true,
		MaxResponseHeaderBytes: 64 << 10,
	}
}

// checkRedirect is the CheckRedirect of an http.Client. It follows a few redirects, but no redirect
// that would lose the message or send it without encryption. 301, 302 and 303 lose it, because they
// turn a POST into a GET without a body.
func (t Target) checkRedirect(r *http.Request, via []*http.Request) error {
	last := via[len(via)-1]
	switch {
	case len(via) > maxRedirects:
		return t.temporary(fmt.Sprintf("redirects more than %d times", maxRedirects), "")
	case last.URL.Scheme == "https" && r.URL.Scheme == "http":
		return t.permanent("redirects from https to http", "what is told would be sent in the open")
	case t.Webhook != "" && r.Method != http.MethodPost:
		return t.permanent(fmt.Sprintf("answers %s, which is no place to post to", statusText(r.Response.StatusCode)),
			"write the URL to which it redirects; is it https:// instead of http://?")
	}
	r.Header.Del("Referer") // has the path in it, and may go to another host
	return nil
}

func (t Target) connectionError(a attempt, err error) *Error {
	if inner := (*url.Error)(nil); errors.As(err, &inner) {
		err = inner.Err // without the URL
	}
	if errors.Is(err, http.ErrSchemeMismatch) {
		return t.temporary("it does not speak TLS on this port", "write http:// instead of https://, or its other port")
	}
	// net/http has no types for these two.
	if strings.Contains(err.Error(), "malformed HTTP") {
		return t.temporary("what it answers is not HTTP", "see the port of the URL")
	}
	if strings.Contains(err.Error(), "Location header") {
		return t.temporary("redirects to what is no URL", "")
	}
	text, hint := a.explain(err)
	if op := (*net.OpError)(nil); a.ctx.Err() == nil && errors.As(err, &op) && op.Op == "proxyconnect" {
		text, hint = "the proxy: "+text, "see HTTP_PROXY and HTTPS_PROXY"
	}
	return t.temporary(text, hint)
}

// temporaryStatuses are the statuses of 400-499 that another attempt may not meet. A missing path
// (404) may belong to a server that is being deployed, and 407 comes from a proxy.
var temporaryStatuses = []int{404, 407, 408, 425, 429}

// statusError is the error of an answer with a status that is not 2xx. A status outside 400-499 is
// temporary.
func (t Target) statusError(code int, answer string) *Error {
	e := t.temporary("answers "+statusText(code), "")
	if answer != "" {
		e.Text += ": " + answer
	}
	e.Permanent = code/100 == 4 && !slices.Contains(temporaryStatuses, code)
	switch code {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusGone:
		e.Hint = "is it the whole URL, and still valid?"
	}
	return e
}

// statusText is a status as people know it: `404 Not Found`. A status without a name is the number
// alone.
func statusText(code int) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", code, http.StatusText(code)))
}

// readStart reads the first 4 KiB of a body, for a second at most, and closes it.
func readStart(body io.ReadCloser) string {
	defer body.Close()
	timer := time.AfterFunc(time.Second, func() { body.Close() })
	defer timer.Stop()
	text, _ := io.ReadAll(io.LimitReader(body, 4<<10))
	return string(text)
}

// quotable returns an answer of a few words, such as `no_service`; "" for pages and secrets.
func quotable(answer string, secrets []string) string {
	answer = strings.TrimSpace(answer)
	strange := func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _-.,:'()", r)
	}
	if len(answer) > 100 || strings.ContainsFunc(answer, strange) ||
		slices.ContainsFunc(secrets, func(secret string) bool { return strings.Contains(answer, secret) }) {
		return ""
	}
	return answer
}

// maxPingOutput is how many bytes of output a ping carries. healthchecks.io keeps 100 kB; a server
// that people host themselves keeps the first 10 kB unless configured otherwise. A longer text
// would lose its end, which matters most.
const maxPingOutput = 10_000

func (t Target) sendPing(ctx context.Context, m Message) error {
	u, _ := url.Parse(t.Ping) // Check has seen it
	if t.On == nil {
		return t.do(ctx, http.MethodGet, u.String(), "", "")
	}
	signal, body := m.signal()
	u = withSignal(u, signal, m.Run)
	if body == "" {
		return t.do(ctx, http.MethodGet, u.String(), "", "")
	}
	body = tail(body, maxPingOutput) // byte for byte as it was printed
	return t.do(ctx, http.MethodPost, u.String(), contentType(body), body)
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
	with := *u
	if signal != "" {
		with = *u.JoinPath(signal)
	}
	if run != "" && !u.Query().Has("rid") {
		with.RawQuery = strings.TrimPrefix(u.RawQuery+"&rid="+url.QueryEscape(run), "&")
	}
	return &with
}

func (t Target) sendWebhook(ctx context.Context, m Message) error {
	content := m.body(t.Format)
	if text, plain := content.(string); plain {
		return t.do(ctx, http.MethodPost, t.Webhook, "text/plain; charset=utf-8", text)
	}
	var body strings.Builder
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	encoder.Encode(content) // strings and numbers, which are always JSON
	return t.do(ctx, http.MethodPost, t.Webhook, "application/json", body.String())
}

// webhookBody is the JSON of a webhook. Its names are the names of `sched history --json`. Times
// are RFC 3339 in UTC; a missing time is null. Programs read it: a field may be added, and no field
// may go or change. docs/notifications.md explains each field.
type webhookBody struct {
	ID          string   `json:"id"`
	Text        string   `json:"text"`
	Event       Event    `json:"event"`
	At          *string  `json:"at"`
	Schedule    string   `json:"schedule"`
	Task        string   `json:"task"`
	Description string   `json:"description"`
	Run         string   `json:"run"`
	Server      string   `json:"server"`
	Slot        *string  `json:"slot"`
	Started     *string  `json:"started"`
	Ended       *string  `json:"ended"`
	Duration    *float64 `json:"duration"` // seconds
	Outcome     string   `json:"outcome"`
	Warning     bool     `json:"warning"`
	Reason      string   `json:"reason"`
	ExitCode    *int     `json:"exit_code"`
	Attempts    int      `json:"attempts"`
	Output      string   `json:"output"`
	OutputCut   bool     `json:"output_cut"`
	HeldBack    int      `json:"held_back"`
	HeldSince   *string  `json:"held_since"`

	Params map[string]string `json:"params,omitempty"`
}

func (m Message) webhookBody() webhookBody {
	b := webhookBody{
		ID:          m.ID,
		Text:        m.subject(),
		Event:       m.Event,
		At:          utc(m.At),
		Schedule:    m.Schedule,
		Task:        m.Task,
		Description: m.Description,
		Run:         m.Run,
		Server:      m.Server,
		Slot:        utc(m.Slot),
		Started:     utc(m.Started),
		Ended:       utc(m.Ended),
		Outcome:     m.Outcome,
		Warning:     m.Warning,
		Reason:      m.Reason,
		ExitCode:    m.ExitCode,
		Attempts:    m.Attempt,
		Output:      strings.ToValidUTF8(m.Output, "\uFFFD"),
		OutputCut:   m.Cut,
		HeldBack:    m.HeldBack,
		HeldSince:   utc(m.HeldSince), Params: m.Params,
	}
	if !m.Started.IsZero() && !m.Ended.IsZero() {
		seconds := m.Duration.Seconds()
		b.Duration = &seconds
	}
	return b
}

// utc is a time in RFC 3339, nil for the zero time.
func utc(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	text := t.UTC().Format(time.RFC3339)
	return &text
}
