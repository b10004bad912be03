package serve

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"
)

// browser is a client that keeps cookies as browsers do: by host, and not by port.
func browser(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Jar: jar}
}

// signsIn signs a browser in to a box.
func (b *box) signsIn(client *http.Client) {
	b.Helper()
	response, err := client.PostForm(b.web.URL+"/login", url.Values{"token": {b.tokens[ScopeOperate]}})
	if err != nil {
		b.Fatal(err)
	}
	response.Body.Close()
	b.sees(client, 200)
}

func (b *box) sees(client *http.Client, want int) {
	b.Helper()
	response, err := client.Get(b.web.URL + prefix + "/status")
	if err != nil {
		b.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != want {
		b.Errorf("a browser gets %d, want %d", response.StatusCode, want)
	}
}

// Browsers send the cookie of a session to each port of the address. The server of another user got
// it there, and acted with it.
func TestACookieIsOfNoUseToTheServerOfAnotherUser(t *testing.T) {
	b := newBox(t, shop)
	var stolen string
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { stolen = r.Header.Get("Cookie") }))
	defer thief.Close()
	client := browser(t)
	b.signsIn(client)
	if response, err := client.Get(thief.URL + "/whatever"); err != nil {
		t.Fatal(err)
	} else {
		response.Body.Close()
	}
	if !strings.HasPrefix(stolen, "sched_session_") {
		t.Fatalf("the thief got %q", stolen)
	}
	if code, body := b.raw("GET", prefix+"/status", map[string]string{"Cookie": stolen}); code != 200 {
		t.Errorf("its owner: %d, %s", code, body)
	}
	value := stolen[strings.Index(stolen, "=")+1:]
	if code, body := b.raw("GET", prefix+"/status",
		map[string]string{"Authorization": "Bearer " + value}); code != 401 {
		t.Errorf("the cookie as a token: %d, %s", code, body)
	}

	if _, err := exec.LookPath("bash"); err != nil || os.Geteuid() != 0 {
		t.Skip("only root can be another user, with bash")
	}
	address := b.web.Listener.Addr().(*net.TCPAddr)
	ask := func(method, path, headers string) string {
		t.Helper()
		c := exec.Command("bash", "-c", `exec 3<>/dev/tcp/127.0.0.1/$0; printf '%b' "$1" >&3; cat <&3`, fmt.Sprint(address.Port),
			method+" "+prefix+path+` HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0\r\n`+headers+`\r\n\r\n`)
		c.Dir = "/"
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	for _, route := range []string{"GET /status", "POST /tasks/hourly/trigger", "GET /events"} {
		method, path, _ := strings.Cut(route, " ")
		if got := ask(method, path, "Cookie: "+stolen); !strings.HasPrefix(got, "HTTP/1.1 401 ") {
			t.Errorf("another user with the cookie: %s: %s", route, got)
		}
	}
	if got := ask("GET", "/status", "Authorization: Bearer "+b.tokens[ScopeRead]); !strings.HasPrefix(got,
		"HTTP/1.1 200 ") {
		t.Errorf("another user with a token: %s", got)
	}
}

// Nobody is behind a connection that was closed when its request had been sent.
func TestNobodyIsBehindAConnectionThatWasClosed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	at := func(a net.Addr) netip.AddrPort { return netip.MustParseAddrPort(a.String()) }
	user, err := loopbackUser(at(client.LocalAddr()), at(server.LocalAddr()))
	if err != nil {
		t.Skip(err)
	}
	if user != fmt.Sprint(os.Geteuid()) {
		t.Errorf("before: user %q", user)
	}
	from, to := at(client.LocalAddr()), at(server.LocalAddr())
	client.Close()
	if user, err := loopbackUser(from, to); user != "" || err != nil {
		t.Errorf("after: user %q, %v", user, err)
	}
}

// A browser keeps one cookie of a name for all ports of a host. It is signed in to two servers at
// the same time, and out of one of them.
func TestServersOfAHostDoNotSignEachOtherOut(t *testing.T) {
	first, second, client := newBox(t, shop), newBox(t, shop), browser(t)
	first.signsIn(client)
	second.signsIn(client)
	first.sees(client, 200)
	response, err := client.PostForm(second.web.URL+"/logout", nil)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	second.sees(client, 401)
	first.sees(client, 200)
}

// A cookie with our name that a server at another port has set signs nobody out.
func TestACookieThatAnotherPortHasSetSignsNobodyOut(t *testing.T) {
	b := newBox(t, shop)
	cookie := b.signedIn(ScopeOperate)
	for _, both := range []string{cookieNamed(cookie) + "=made-up; " + cookie, cookie + "; " +
		cookieNamed(cookie) + "=made-up"} {
		if code, body := b.raw("GET", prefix+"/status", map[string]string{"Cookie": both}); code != 200 {
			t.Errorf("%s: %d, %s", both, code, body)
		}
	}
}

func cookieNamed(cookie string) string {
	name, _, _ := strings.Cut(cookie, "=")
	return name
}

// again serves the box with a new server at the same address, as after a restart.
func (b *box) again() {
	b.Helper()
	address := b.web.Listener.Addr().String()
	b.web.Close()
	server, err := New(b.server.Config)
	if err != nil {
		b.Fatal(err)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		b.Fatal(err)
	}
	b.server, b.web = server, httptest.NewUnstartedServer(server.Handler(nil))
	b.web.Listener.Close()
	b.web.Listener = listener
	b.web.Start()
	b.Cleanup(b.web.Close)
}

// A session goes on after a restart. It is revoked by its name, and with the token that it was
// begun with.
func TestASessionOutlivesItsServer(t *testing.T) {
	b, client := newBox(t, shop), browser(t)
	b.signsIn(client)
	b.again()
	b.sees(client, 200)
	if _, err := loopbackUser(netip.AddrPort{}, netip.AddrPort{}); err != nil {
		t.Skipf("without users a session ends with the server: %v", err)
	}
	if name := b.onlySession().Name; RevokeToken(b.State(), name) != nil {
		t.Errorf("%s cannot be revoked", name)
	}
	b.sees(client, 401)

	b.signsIn(client)
	if info, err := os.Stat(tokensPath(b.State())); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if err := RevokeToken(b.State(), "my-operate"); err != nil {
		t.Fatal(err)
	}
	b.again()
	b.sees(client, 401)
	if all, err := Tokens(b.State()); err != nil || sessionsIn(all) != 0 {
		t.Errorf("%v, %v", all, err)
	}
}

func (b *box) onlySession() (one Token) {
	b.Helper()
	all, err := Tokens(b.State())
	if err != nil || sessionsIn(all) != 1 {
		b.Fatalf("%v, %v", all, err)
	}
	return all[len(all)-1]
}

// There is room for a new session however many there are. Sessions that are over are forgotten.
func TestManySessions(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	session := func(name string, until time.Duration) Token {
		return Token{Name: name, Session: &Session{Until: now.Add(until)}}
	}
	all := []Token{{Name: "ci"}, session("over", 0), session("soon", time.Minute)}
	for n := range maxSessions - 1 {
		all = append(all, session(fmt.Sprint(n), time.Hour))
	}
	all = withSession(all, session("new", 2*time.Hour), now)
	if sessionsIn(all) != maxSessions || all[0].Name != "ci" || all[1].Name != "0" || all[len(all)-1].Name != "new" {
		t.Errorf("%d, %v, %v", sessionsIn(all), all[:2], all[len(all)-1])
	}
}

// A thousand sessions of a token that may only read sign out neither the operator nor a login link.
func TestTheSessionsOfOneTokenSignNobodyElseOut(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	session := func(name, of string, until time.Duration) Token {
		return Token{Name: name, Session: &Session{TokenHash: of, Until: now.Add(until)}}
	}
	all := []Token{session("operator", "operate", time.Minute), session("link", "", time.Minute)}
	for n := range 3 * maxSessions {
		all = withSession(all, session(fmt.Sprint(n), "read", time.Hour+time.Duration(n)*time.Second), now)
	}
	if sessionsIn(all) != maxSessions || all[0].Name != "operator" || all[1].Name != "link" ||
		all[2].Name != fmt.Sprint(2*maxSessions+2) {
		t.Errorf("%d, %v", sessionsIn(all), all[:3])
	}
}

// A form that is cut off, and a token that nobody knows, are refused before the server asks the
// machine which user has the connection: that reads a table with a line for each connection.
func TestALoginThatIsRefusedLooksAtNoConnections(t *testing.T) {
	b := newBox(t, shop)
	for _, row := range []struct {
		body io.Reader
		want string
	}{
		{io.MultiReader(strings.NewReader("token=x"), iotest.ErrReader(io.ErrUnexpectedEOF)), "the form cannot be read"},
		{strings.NewReader("token=guess"), "This token is not one of this server"},
		{strings.NewReader("code=guess"), "This link was used before"},
		{strings.NewReader(""), "This token is not one of this server"},
		{strings.NewReader("token=" + b.tokens[ScopeRead]), "nobody knows who asks"},
	} {
		r := httptest.NewRequest("POST", "/login", row.body)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.RemoteAddr = "127.0.0.1:1" // no process has this connection
		local := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 2}
		w := httptest.NewRecorder()
		b.server.access.login(w, r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, local)))
		if !strings.Contains(w.Body.String(), row.want) {
			t.Errorf("%s: %d: %s", row.want, w.Code, w.Body)
		}
	}
}

// Over TLS the cookie has a prefix with which browsers take it from no page without TLS, and from
// no other host.
func TestTheCookieOverTLS(t *testing.T) {
	for base, name := range map[string]string{"": "__Host-sched_session_", "/sched": "__Secure-sched_session_"} {
		b := newBox(t, shop, func(c *Config) { c.Secure, c.BasePath = true, base })
		secure := httptest.NewTLSServer(b.server.Handler(nil))
		defer secure.Close()
		client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		response, err := client.PostForm(secure.URL+base+"/login", url.Values{"token": {b.tokens[ScopeRead]}})
		if err != nil || len(response.Cookies()) != 1 {
			t.Fatal(response, err)
		}
		cookie := response.Cookies()[0]
		if !strings.HasPrefix(cookie.Name, name) || !cookie.Secure || cookie.Domain != "" || cookie.Path != base+"/" {
			t.Errorf("%s: %+v", base, cookie)
		}
		r, _ := http.NewRequest("GET", secure.URL+base+prefix+"/status", nil)
		r.AddCookie(cookie)
		response, err = client.Do(r)
		if err != nil || response.StatusCode != 200 {
			t.Fatal(response, err)
		}
		io.Copy(io.Discard, response.Body)
	}
}

// Somebody who wants to see what is wrong can sign in though the disk is full. The session ends
// with the server.
func TestSigningInWhileNothingCanBeWritten(t *testing.T) {
	b, client := newBox(t, shop), browser(t)
	if err := os.MkdirAll(tokensPath(b.State())+".new/x", 0o700); err != nil {
		t.Fatal(err)
	}
	b.signsIn(client)
	b.again()
	b.sees(client, 401)
}
