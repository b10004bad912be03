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

func (t Target) checkHTTP(address string) error {
	u, err := url.Parse(address)
	switch {
	case address == "":
		return t.wrong("the URL is empty", "")
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		return t.wrong("the URL is none", "it begins with https:// or http:// and a host; in a password %40 is @ and %2F is /")
	}
	return nil
}

// maxRedirects is how many redirects are followed.
const maxRedirects = 5

// do makes one request. Nil means that the server has taken it: its status is 2xx.
func (t Target) do(ctx context.Context, r *http.Request) error {
	r.Header.Set("User-Agent", "sched")
	client := &http.Client{Transport: transport(), CheckRedirect: t.redirect}
	c := converse(ctx, secrets(r.URL))
	response, err := client.Do(r.WithContext(ctx))
	var ours *Error
	switch {
	case errors.As(err, &ours):
		return ours
	case err != nil:
		return t.unanswered(c, err)
	}
	answer := begin(response.Body)
	if response.StatusCode/100 == 2 {
		return nil
	}
	return t.refused(response.StatusCode, quoted(answer, c.secrets))
}

// transport serves one request, and keeps no connection.
func transport() *http.Transport {
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment,
		OnProxyConnectResponse: func(_ context.Context, _ *url.URL, _ *http.Request, response *http.Response) error {
			if response.StatusCode != http.StatusOK {
				return fmt.Errorf("the proxy answers %s", status(response.StatusCode))
			}
			return nil
		},
		DisableKeepAlives:      true,
		ForceAttemptHTTP2:      true,
		MaxResponseHeaderBytes: 64 << 10,
	}
}

// redirect follows a few redirects, but none that would lose what is to be told, or show it to everybody.
func (t Target) redirect(r *http.Request, via []*http.Request) error {
	last := via[len(via)-1]
	switch {
	case len(via) > maxRedirects:
		return t.failed(fmt.Sprintf("redirects more than %d times", maxRedirects), "")
	case last.URL.Scheme == "https" && r.URL.Scheme == "http":
		return t.wrong("redirects from https to http", "what is told would be sent in the open")
	case t.Webhook != nil && r.Method != http.MethodPost:
		return t.wrong(fmt.Sprintf("answers %s, which is no place to post to", status(r.Response.StatusCode)),
			"write the URL to which it redirects; is it https:// instead of http://?")
	}
	r.Header.Del("Referer") // has the path in it, and may go to another host
	return nil
}

// unanswered tells why there was no answer.
func (t Target) unanswered(c conversation, err error) *Error {
	if inner := (*url.Error)(nil); errors.As(err, &inner) {
		err = inner.Err // without the URL
	}
	if errors.Is(err, http.ErrSchemeMismatch) {
		return t.failed("it does not speak TLS on this port", "write http:// instead of https://, or its other port")
	}
	if strings.Contains(err.Error(), "malformed HTTP") {
		return t.failed("what it answers is not HTTP", "see the port of the URL")
	}
	if strings.Contains(err.Error(), "Location header") {
		return t.failed("redirects to what is no URL", "")
	}
	text, hint := c.silence(err)
	if op := (*net.OpError)(nil); c.ctx.Err() == nil && errors.As(err, &op) && op.Op == "proxyconnect" {
		text, hint = "the proxy: "+text, "see HTTP_PROXY and HTTPS_PROXY"
	}
	return t.failed(text, hint)
}

// passing are the answers of the kind "the request is wrong" that another time may be others. A path that is not there
// may be one whose server is being deployed, and 407 comes from a proxy.
var passing = []int{404, 407, 408, 425, 429}

// refused is the error for a status that is not 2xx.
func (t Target) refused(code int, answer string) *Error {
	e := t.failed("answers "+status(code), "")
	if answer != "" {
		e.Text += ": " + answer
	}
	e.Permanent = code/100 == 4 && !slices.Contains(passing, code)
	switch code {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusGone:
		e.Hint = "is it the whole URL, and still valid?"
	}
	return e
}

func status(code int) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", code, http.StatusText(code)))
}

// begin reads the begin of a body, for a second at most, and closes it.
func begin(body io.ReadCloser) string {
	defer body.Close()
	timer := time.AfterFunc(time.Second, func() { body.Close() })
	defer timer.Stop()
	text, _ := io.ReadAll(io.LimitReader(body, 4<<10))
	return string(text)
}

// quoted returns an answer if it is a few words, such as `no_service` of Slack. Pages are not
// shown, nor what may repeat the secrets of the request.
func quoted(answer string, secrets []string) string {
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
