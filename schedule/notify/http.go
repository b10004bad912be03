package notify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

func checkHTTP(t Target, address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return t.permanent("the URL does not begin with https:// or http:// and a host",
			"write https://HOST/PATH; in a password %40 is @ and %2F is /")
	}
	return nil
}

const maxRedirects = 5

// A request is one HTTP request to a target.
type request struct {
	method, address   string
	contentType, body string
	headers           map[string]string
	secrets           []string // that no error may show, besides the parts of the address

	// missing returns what an answer lacks to count as a success; nil: each answer with 2xx does.
	missing func(answer string) string
}

// doHTTP makes one request. Nil means that the server has accepted it: its status is 2xx, whatever
// its body is.
func doHTTP(ctx context.Context, t Target, method, address, contentType, body string) error {
	return exchange(ctx, t, request{method: method, address: address, contentType: contentType, body: body})
}

// exchange makes one request. Nil means that the server has accepted it: its status is 2xx, and its
// answer lacks nothing.
func exchange(ctx context.Context, t Target, what request) error {
	r, err := http.NewRequest(what.method, what.address, strings.NewReader(what.body))
	if err != nil {
		return t.permanent("it is no valid URL", "") // Check has seen it
	}
	r.Header.Set("User-Agent", "sched")
	if what.contentType != "" {
		r.Header.Set("Content-Type", what.contentType)
	}
	for name, value := range what.headers {
		r.Header.Set(name, value)
	}
	client := &http.Client{Transport: newTransport(), CheckRedirect: func(r *http.Request, via []*http.Request) error {
		return checkRedirect(t, r, via)
	}}
	e := newExplainer(ctx, longestFirst(append(secretsOf(r.URL), what.secrets...)))
	response, err := client.Do(r.WithContext(ctx))
	if ours, ok := errors.AsType[*Error](err); ok { // of checkRedirect
		return ours
	}
	if err != nil {
		return connectionError(t, e, err)
	}
	answer := readStart(response.Body)
	switch {
	case response.StatusCode/100 != 2:
		return statusError(t, response.StatusCode, quotable(answer, e.secrets))
	case what.missing != nil && what.missing(answer) != "":
		text := "answers " + statusText(response.StatusCode) + " without `" + what.missing(answer) + "`"
		if quoted := quotable(answer, e.secrets); quoted != "" {
			text += ": " + quoted
		}
		return t.temporary(text, "is that its URL?")
	}
	return nil
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

// checkRedirect follows a few redirects, but no redirect that would lose the message or send it
// without encryption. 301, 302 and 303 lose it, because they turn a POST into a GET without a body.
func checkRedirect(t Target, r *http.Request, via []*http.Request) error {
	last := via[len(via)-1]
	switch {
	case len(via) > maxRedirects:
		return t.temporary(fmt.Sprintf("redirects more than %d times", maxRedirects), "")
	case last.URL.Scheme == "https" && r.URL.Scheme == "http":
		return t.permanent("redirects from https to http", "what is told would be sent in the open")
	case t.Preset != nil && last.URL.Hostname() != r.URL.Hostname():
		return t.permanent("redirects to another host", "what is secret in it would be sent there")
	case (t.Webhook != "" || t.Preset != nil) && r.Method != last.Method:
		return t.permanent(fmt.Sprintf("answers %s, which is no place to post to", statusText(r.Response.StatusCode)),
			"write the URL to which it redirects; is it https:// instead of http://?")
	}
	r.Header.Del("Referer") // has the path in it, and may go to another host
	return nil
}

func connectionError(t Target, e explainer, err error) *Error {
	if outer, ok := errors.AsType[*url.Error](err); ok {
		err = outer.Err // without the URL
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
	text, hint := e.explain(err)
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "proxyconnect" && e.ctx.Err() == nil {
		text, hint = "the proxy: "+text, "see HTTP_PROXY and HTTPS_PROXY"
	}
	return t.temporary(text, hint)
}

// temporaryStatuses are the statuses of 400-499 that another attempt may not meet. A missing path
// (404) may belong to a server that is being deployed, and 407 comes from a proxy.
var temporaryStatuses = []int{404, 407, 408, 425, 429}

// statusError is the error of an answer with a status that is not 2xx. A status outside 400-499 is
// temporary.
func statusError(t Target, code int, answer string) *Error {
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

// readStart reads the first 64 KiB of a body, for a second at most, and closes it.
func readStart(body io.ReadCloser) string {
	defer body.Close()
	timer := time.AfterFunc(time.Second, func() { body.Close() })
	defer timer.Stop()
	text, _ := io.ReadAll(io.LimitReader(body, 64<<10))
	return string(text)
}

// quotable returns the start of an answer as one line, with *** for each secret of the request. It
// returns "" for a page of HTML, which says no more than the status.
func quotable(answer string, secrets []string) string {
	answer = strings.TrimSpace(answer)
	if strings.HasPrefix(answer, "<") {
		return ""
	}
	return redact(strings.ToValidUTF8(answer, ""), secrets)
}
