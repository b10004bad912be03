package notify_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sched/schedule"
	"sched/schedule/notify"
	"sched/testing/machine"
)

const secretPath = "/services/T0KEN/s3cret%2Fpath?key=hunter2"

// withSecrets is the URL of a server with a user, a password, a path and a query.
func withSecrets(server string) string {
	return strings.Replace(server, "://", "://B0B:hunter2@", 1) + secretPath
}

// Each row is what a server does, and the error that people then read.
func TestErrorsOverHTTP(t *testing.T) {
	answers := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(status)
			io.WriteString(w, body)
		}
	}
	whole := "is it the whole URL, and still valid?"
	for _, row := range []struct {
		server    string
		handler   http.HandlerFunc
		text      string
		hint      string
		permanent bool
	}{
		{"takes it", answers(200, "ok"), "", "", false},
		{"takes it without a word", answers(204, ""), "", "", false},
		{"takes it for later", answers(202, "queued"), "", "", false},

		{"does not know the path", answers(404, "no_service"), "answers 404 Not Found: no_service", whole, false},
		{"has removed it", answers(410, ""), "answers 410 Gone", whole, true},
		{"wants a password", answers(401, "Unauthorized"), "answers 401 Unauthorized: Unauthorized", whole, true},
		{"forbids it", answers(403, "channel_is_archived"), "answers 403 Forbidden: channel_is_archived", whole, true},
		{"does not understand", answers(400, "invalid_payload"), "answers 400 Bad Request: invalid_payload", "", true},
		{"is asked too often", answers(429, ""), "answers 429 Too Many Requests", "", false},
		{"waited too long", answers(408, ""), "answers 408 Request Timeout", "", false},
		{"is broken", answers(500, "it hurts"), "answers 500 Internal Server Error: it hurts", "", false},
		{"is being deployed", answers(503, ""), "answers 503 Service Unavailable", "", false},
		{"has a status of its own", answers(599, ""), "answers 599", "", false},
		{"answers with a page", answers(500, "<html>oops</html>"), "answers 500 Internal Server Error", "", false},
		{"answers with a long page", answers(500, strings.Repeat("a", 10<<20)),
			"answers 500 Internal Server Error: " + strings.Repeat("a", 199) + "…", "", false},
		{"says what is wrong", answers(400, "{\"error\": \"field `text` is missing\"}\n"),
			"answers 400 Bad Request: {\"error\": \"field `text` is missing\"}", "", true},
		{"repeats the path", answers(400, "no hook T0KEN"), "answers 400 Bad Request: no hook ***", "", true},
		{"repeats the password", answers(400, "user B0B with hunter2"),
			"answers 400 Bad Request: user *** with ***", "", true},
		{"redirects to itself", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.String(), http.StatusTemporaryRedirect)
		}, "redirects more than 5 times", "", false},
		{"redirects to no URL", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "http://login.test/%zz?back=T0KEN")
			w.WriteHeader(http.StatusTemporaryRedirect)
		}, "redirects to what is no URL", "", false},
		{"redirects to nowhere", answers(302, ""), "answers 302 Found", "", false},

		{"cuts the connection", func(w http.ResponseWriter, r *http.Request) {
			conn, _, _ := w.(http.Hijacker).Hijack()
			conn.Close()
		}, "it closed the connection before it answered", "", false},
		{"speaks something else", func(w http.ResponseWriter, r *http.Request) {
			conn, _, _ := w.(http.Hijacker).Hijack()
			io.WriteString(conn, "220 mail.example.com ESMTP T0KEN\r\n")
			conn.Close()
		}, "what it answers is not HTTP", "see the port of the URL", false},
	} {
		t.Run(row.server, func(t *testing.T) {
			server := httptest.NewServer(row.handler)
			defer server.Close()
			address := withSecrets(server.URL)
			for _, target := range []notify.Target{
				{Ping: address},
				{Ping: address, On: []schedule.Moment{}},
				{Webhook: address},
				{Webhook: address, Format: notify.Slack},
			} {
				expect(t, send(t, target, failure()), target, row.text, row.hint, row.permanent)
			}
		})
	}
}

// expect compares an error with the words that follow its target; an empty text stands for no
// error.
func expect(t *testing.T, e *notify.Error, target notify.Target, text, hint string, permanent bool) {
	t.Helper()
	switch {
	case text == "" && e != nil:
		t.Errorf("%v", e)
	case text != "" && e == nil:
		t.Errorf("%s: no error, want %q", target, text)
	case text != "" && (e.Text != target.String()+": "+text || e.Hint != hint || e.Permanent != permanent):
		t.Errorf("got  %s (hint %q, permanent %t)\nwant %s: %s (hint %q, permanent %t)",
			e, e.Hint, e.Permanent, target, text, hint, permanent)
	}
}

func TestErrorsBeforeTheRequest(t *testing.T) {
	wrongCA := httptest.NewUnstartedServer(nil)
	wrongCA.TLS = &tls.Config{Certificates: []tls.Certificate{strange}}
	wrongCA.StartTLS()
	defer wrongCA.Close()
	plain := httptest.NewServer(nil)
	defer plain.Close()
	none := "write https://HOST/PATH; in a password %40 is @ and %2F is /"
	ca := "name the file of its CA in SSL_CERT_FILE, or add it to the CAs of the machine"
	for _, row := range []struct {
		what, url  string
		text, hint string
		permanent  bool
	}{
		{"no URL", "s3cret", "the URL does not begin with https:// or http:// and a host", none, true},
		{"another scheme", "ftp://B0B:hunter2@example.com/",
			"the URL does not begin with https:// or http:// and a host", none, true},
		{"no host", "https:///T0KEN", "the URL does not begin with https:// or http:// and a host", none, true},
		{"a password with a slash", "https://B0B:hunter2/x@example.com",
			"the URL does not begin with https:// or http:// and a host", none, true},
		{"a control character", "https://example.com/T0KEN\n",
			"the URL does not begin with https:// or http:// and a host", none, true},
		{"no server there", "http://B0B:hunter2@" + closedPort(t) + secretPath, "connection refused",
			"is it running, and is that its port?", false},
		{"a certificate of an unknown CA", withSecrets(wrongCA.URL),
			"its certificate cannot be trusted: certificate signed by unknown authority", ca, false},
		{"https to a port of http", withSecrets(strings.Replace(plain.URL, "http:", "https:", 1)),
			"it does not speak TLS on this port", "write http:// instead of https://, or its other port", false},
	} {
		t.Run(row.what, func(t *testing.T) {
			target := notify.Target{Webhook: row.url}
			e := send(t, target, failure())
			if e != nil && strings.Contains(e.Text, "certificate signed by unknown authority (possibly") {
				e.Text, _, _ = strings.Cut(e.Text, " (possibly") // Go guesses why
			}
			expect(t, e, target, row.text, row.hint, row.permanent)
			if checked := notify.Check(target); (checked != nil) != row.permanent {
				t.Errorf("Check: %v", checked)
			}
		})
	}
}

// closedPort is an address at which no server listens.
func closedPort(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func TestTheContextEndsEveryRequest(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	for what, handler := range map[string]http.HandlerFunc{
		"hangs": func(w http.ResponseWriter, r *http.Request) { <-release },
		"drips its header": func(w http.ResponseWriter, r *http.Request) {
			conn, _, _ := w.(http.Hijacker).Hijack()
			defer conn.Close()
			io.WriteString(conn, "HTTP/1.1 200 OK\r\n")
			for i := 0; ; i++ {
				if _, err := fmt.Fprintf(conn, "X-%d: T0KEN\r\n", i); err != nil {
					return
				}
				select {
				case <-release:
					return
				case <-time.After(10 * time.Millisecond):
				}
			}
		},
	} {
		t.Run("a server that "+what, func(t *testing.T) {
			server := httptest.NewServer(handler)
			defer server.CloseClientConnections()
			endsWithTheContext(t, notify.Target{Webhook: withSecrets(server.URL)})
		})
	}
	for what, accept := range silentServers(t) {
		t.Run("a server that "+what, func(t *testing.T) {
			endsWithTheContext(t, notify.Target{Ping: withSecrets("http://" + accept)})
			endsWithTheContext(t, notify.Target{Ping: withSecrets("https://" + accept)})
		})
	}
}

// silentServers are addresses of servers that take connections and say nothing.
func silentServers(t *testing.T) map[string]string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return map[string]string{"never takes a byte": l.Addr().String()}
}

// endsWithTheContext sends twice: with a short deadline, and with a context that is cancelled. Each
// must return its error in time.
func endsWithTheContext(t *testing.T, target notify.Target) {
	t.Helper()
	began := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	e := sendWithin(t, ctx, target, failure())
	if e == nil || !strings.Contains(e.Text, ": no answer within ") || e.Permanent {
		t.Errorf("after the deadline: %v", e)
	}
	ctx, stop := context.WithCancel(context.Background())
	time.AfterFunc(100*time.Millisecond, stop)
	e = sendWithin(t, ctx, target, failure())
	if e == nil || !strings.HasSuffix(e.Text, ", and then sched had to end") || e.Permanent {
		t.Errorf("stopped: %v", e)
	}
	if took := time.Since(began); took > machine.Within(8*time.Second) {
		t.Errorf("both took %s", took)
	}
}

// A server that has answered 200 has accepted the message, also if its body never ends.
func TestABodyWithoutAnEndIsNotWaitedFor(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			w.Write([]byte("x"))
			w.(http.Flusher).Flush()
			time.Sleep(time.Millisecond)
		}
	}))
	defer server.Close()
	began := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if e := sendWithin(t, ctx, notify.Target{Ping: server.URL}, failure()); e != nil {
		t.Error(e)
	}
	if took := time.Since(began); took > machine.Within(20*time.Second) {
		t.Errorf("took %s", took)
	}
}

func TestFailsTwiceThenTakesIt(t *testing.T) {
	var calls atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) <= 2 {
			w.WriteHeader(http.StatusBadGateway)
		}
	}))
	defer server.Close()
	target := notify.Target{Ping: server.URL}
	for i := range 2 {
		if e := send(t, target, failure()); e == nil || e.Permanent {
			t.Errorf("call %d: %v", i+1, e)
		}
	}
	if e := send(t, target, failure()); e != nil {
		t.Error(e)
	}
}

func TestRedirects(t *testing.T) {
	var got *http.Request
	var body string
	last := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		got, body = r, string(text)
	})
	other := httptest.NewServer(last)
	defer other.Close()
	secure := httptest.NewUnstartedServer(last)
	secure.TLS = &tls.Config{Certificates: []tls.Certificate{trusted}}
	secure.StartTLS()
	defer secure.Close()
	to := func(status int, url string) string {
		server := httptest.NewServer(http.RedirectHandler(url, status))
		t.Cleanup(server.Close)
		return withSecrets(server.URL)
	}

	t.Run("a ping follows", func(t *testing.T) {
		for _, status := range []int{301, 302, 303, 307, 308} {
			got = nil
			if e := send(t, notify.Target{Ping: to(status, secure.URL+"/new")}, failure()); e != nil || got == nil {
				t.Fatalf("%d: %v", status, e)
			}
			if got.URL.Path != "/new" || got.Referer() != "" || got.Header.Get("Authorization") != "" {
				t.Errorf("%d: %s with %v", status, got.URL, got.Header)
			}
		}
	})
	t.Run("a webhook follows where it may post", func(t *testing.T) {
		for _, status := range []int{307, 308} {
			if e := send(t, notify.Target{Webhook: to(status, other.URL)}, failure()); e != nil ||
				!strings.Contains(body, "nightly-report") {
				t.Errorf("%d: %v, body %q", status, e, body)
			}
		}
	})
	t.Run("and not where the message would be lost", func(t *testing.T) {
		got = nil
		target := notify.Target{Webhook: to(301, other.URL+"/T0KEN")}
		expect(t, send(t, target, failure()), target, "answers 301 Moved Permanently, which is no place to post to",
			"write the URL to which it redirects; is it https:// instead of http://?", true)
		if got != nil {
			t.Error("it was requested all the same")
		}
	})
	t.Run("none follows from https to http", func(t *testing.T) {
		got = nil
		down := httptest.NewUnstartedServer(http.RedirectHandler(other.URL+"/T0KEN", http.StatusTemporaryRedirect))
		down.TLS = &tls.Config{Certificates: []tls.Certificate{trusted}}
		down.StartTLS()
		defer down.Close()
		target := notify.Target{Ping: withSecrets(down.URL)}
		expect(t, send(t, target, failure()), target, "redirects from https to http",
			"what is told would be sent in the open", true)
		if got != nil {
			t.Error("it was requested all the same")
		}
	})
}

// The proxies of the environment are read once in a process, so each row is a process.
func TestProxies(t *testing.T) {
	var asked atomic.Value
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Store(r.Method + " " + r.RequestURI)
		if r.Method == http.MethodConnect {
			w.WriteHeader(http.StatusProxyAuthRequired)
		}
	}))
	defer proxy.Close()
	closed := closedPort(t)
	for _, row := range []struct{ what, env, url, asked, said string }{
		{"a proxy is asked", "HTTP_PROXY=" + proxy.URL, "http://hooks.example.test/T0KEN",
			"GET http://hooks.example.test/T0KEN", "<nil>"},
		{"it refuses", "HTTPS_PROXY=" + proxy.URL, "https://hooks.example.test/T0KEN", "CONNECT hooks.example.test:443",
			"ping hooks.example.test: the proxy answers 407 Proxy Authentication Required"},
		{"it is down", "HTTPS_PROXY=http://B0B:hunter2@" + closed, "https://hooks.example.test/T0KEN", "",
			"ping hooks.example.test: the proxy: connection refused"},
	} {
		t.Run(row.what, func(t *testing.T) {
			asked.Store("")
			child := exec.Command(os.Args[0])
			child.Env = append(os.Environ(), row.env, "NOTIFY_TEST_PING="+row.url)
			said, err := child.Output()
			if err != nil || string(said) != row.said || asked.Load() != row.asked {
				t.Errorf("%v\n got %q, asked %q\nwant %q, asked %q", err, said, asked.Load(), row.said, row.asked)
			}
		})
	}
}
