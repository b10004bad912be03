package serve

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os/user"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// newProxied makes a box whose proxy is the user of this process at 127.0.0.1. The server's
// problems go to said.
func newProxied(t *testing.T, said *[]string) *box {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux says which user opened a connection")
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	signIn, err := NewHeaderSignIn("x-forwarded-user", "x-forwarded-groups",
		[]string{me.Uid + "@127.0.0.1"}, []string{"ops=edit", "night shift=operate", "all=read"})
	if err != nil {
		t.Fatal(err)
	}
	return newBox(t, shop, func(c *Config) {
		c.BehindProxy, c.HeaderSignIn = true, signIn
		c.Problem = func(format string, args ...any) { *said = append(*said, fmt.Sprintf(format, args...)) }
	})
}

// lines sends a request with headers as they are written, and returns the answer.
func (b *box) lines(method, path string, headers ...string) (status int, body string) {
	b.Helper()
	conn, err := net.Dial("tcp", b.web.Listener.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n%s\r\n",
		method, prefix+path, strings.Join(append(headers, ""), "\r\n"))
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		b.Fatal(err)
	}
	text, _ := io.ReadAll(response.Body)
	return response.StatusCode, string(text)
}

func TestTheProxySaysWhoAsks(t *testing.T) {
	var said []string
	b := newProxied(t, &said)
	const ada, ops, own = "X-Forwarded-User: ada", "X-Forwarded-Groups: all, ops", "Sec-Fetch-Site: same-origin"
	token := "Authorization: Bearer " + b.tokens[ScopeOperate]
	cookie := "Cookie: " + b.signedIn(ScopeOperate)
	for _, tt := range []struct {
		name, method, path string
		headers            []string
		status             int
		says               string
	}{
		{"a user of a group", "GET", "/status", []string{ada, "X-Forwarded-Groups: all"}, 200, "verdict"},
		{"the group with the most counts", "POST", "/pauses", []string{ada, ops, own}, 201, `"by": "ada"`},
		{"a group with a blank in its name", "POST", "/pauses",
			[]string{ada, "X-Forwarded-Groups: x,night shift", own}, 201, `"by": "ada"`},
		{"a user who may only look", "POST", "/pauses", []string{ada, "X-Forwarded-Groups: all", own}, 403,
			"ada may read, and this needs operate"},
		{"a user of no group", "GET", "/status", []string{ada}, 403, "in no group"},
		{"a group that flags do not name", "GET", "/status",
			[]string{ada, "X-Forwarded-Groups: op, OPS, opsx"}, 403, "in no group"},
		{"a part of a group's name", "GET", "/status",
			[]string{ada, "X-Forwarded-Groups: night;shift"}, 403, "in no group"},
		{"two users", "GET", "/status", []string{ada, "X-Forwarded-User: root", ops}, 403, "twice"},
		{"the same user twice", "GET", "/status", []string{ada, "x-forwarded-user: ada", ops}, 403, "twice"},
		{"two users in one header", "GET", "/status", []string{"X-Forwarded-User: ada, root", ops}, 403, "one user"},
		{"no user", "GET", "/status", []string{"X-Forwarded-User:", ops}, 403, "one user"},
		{"blanks for a user", "GET", "/status", []string{"X-Forwarded-User:   ", ops}, 403, "one user"},
		{"a user and nobody", "GET", "/status", []string{ada, "X-Forwarded-User:", ops}, 403, "twice"},
		{"a user with an escape", "GET", "/status", []string{"X-Forwarded-User: ada\x1b[2J", ops}, 400, ""},
		{"markup for a user", "GET", "/status", []string{"X-Forwarded-User: <b>ada</b>", ops}, 403, "one user"},
		{"groups twice: a client added one", "GET", "/status",
			[]string{ada, "X-Forwarded-Groups: all", "X-Forwarded-Groups: ops"}, 403, "twice"},
		{"groups without a user", "GET", "/status", []string{ops}, 401, "a token is needed"},
		{"another spelling of the header", "GET", "/status", []string{"X_Forwarded_User: ada", ops},
			401, "a token is needed"},
		{"a header for one hop", "GET", "/status",
			[]string{ada, ops, "Connection: close, x-forwarded-user"}, 403, "one hop"},
		{"groups for one hop", "GET", "/status", []string{ada, ops, "Connection: X-Forwarded-Groups"}, 403, "one hop"},
		{"a form of another site", "POST", "/pauses",
			[]string{ada, ops, "Sec-Fetch-Site: cross-site"}, 403, "another site"},
		{"a form of a host beside ours", "POST", "/pauses",
			[]string{ada, ops, "Sec-Fetch-Site: same-site"}, 403, "another site"},
		{"a form of another origin", "POST", "/pauses",
			[]string{ada, ops, "Origin: https://evil.example"}, 403, "another site"},
		{"a form of a page without an origin", "POST", "/pauses",
			[]string{ada, ops, "Origin: null"}, 403, "another site"},
		{"a form of a browser that says nothing", "POST", "/pauses",
			[]string{ada, ops}, 403, "nothing says that a page of this server"},
		{"our own form in an old browser", "POST", "/pauses", []string{ada, ops, "Origin: http://localhost"}, 201, `"by": "ada"`},
		{"a token beside it decides alone", "POST", "/pauses", []string{ada, ops, token}, 201, `"by": "my-operate"`},
		{"a wrong token beside it", "GET", "/status", []string{ada, ops, "Authorization: Bearer x"}, 401,
			"not one of this server"},
		{"a session beside it does not count", "POST", "/pauses",
			[]string{ada, "X-Forwarded-Groups: all", own, cookie}, 403, "ada may read"},
	} {
		if status, body := b.lines(tt.method, tt.path, tt.headers...); status != tt.status ||
			!strings.Contains(body, tt.says) {
			t.Errorf("%s: %d, want %d: %s", tt.name, status, tt.status, body)
		}
	}
	b.wants("the audit log", b.call(call{scope: ScopeRead, method: "GET", route: "/audit"}), 200, `"who": "ada"`, `"who": "my-operate"`)
	if len(said) > 0 {
		t.Errorf("it said %q", said)
	}
}

// The address is the one of the connection: what a client writes into headers does not change it.
// That a header was ignored is said, and not so often that it fills a disk.
func TestHeadersFromElsewhereAreIgnored(t *testing.T) {
	for elsewhere, proxies := range map[string][]Proxy{
		"another address":              {{IP: netip.MustParseAddr("192.0.2.7")}},
		"another user of this machine": {{IP: netip.MustParseAddr("127.0.0.1"), UID: "4294967"}},
	} {
		var said []string
		b := newProxied(t, &said)
		b.server.HeaderSignIn.Proxies = proxies
		ada := []string{"X-Forwarded-User: ada", "X-Forwarded-Groups: ops", "X-Forwarded-For: 192.0.2.7",
			"Forwarded: for=192.0.2.7", "X-Real-IP: 192.0.2.7", "Sec-Fetch-Site: same-origin"}
		for range 3 {
			if status, body := b.lines("POST", "/pauses", ada...); status != 401 {
				t.Errorf("%s: %d, %s", elsewhere, status, body)
			}
		}
		if status, body := b.lines("POST", "/pauses",
			append(ada, "Authorization: Bearer "+b.tokens[ScopeOperate])...); status != 201 ||
			!strings.Contains(body, `"by": "my-operate"`) {
			t.Errorf("%s, with a token: %d, %s", elsewhere, status, body)
		}
		if len(said) != 1 || !strings.Contains(said[0], "from 127.0.0.1:") || !strings.Contains(said[0], "ignored") {
			t.Errorf("%s: it said %q", elsewhere, said)
		}
	}
}

// A page for a user whom the proxy has signed in says who it is for. A user of no group is refused,
// and not sent to the form for tokens.
func TestPagesForUsersOfAProxy(t *testing.T) {
	var said []string
	b := newProxied(t, &said)
	b.web.Config.Handler = b.server.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, whoIs(r.Context()).Name) }))
	for groups, want := range map[string]int{"all": 200, "nix": 403} {
		if status, body := b.raw("GET", "/",
			map[string]string{"X-Forwarded-User": "ada", "X-Forwarded-Groups": groups}); status != want ||
			want == 200 && body != "ada" {
			t.Errorf("%s: %d, %s", groups, status, body)
		}
	}
}

func TestFlagsForSigningInThatAreRefused(t *testing.T) {
	for _, tt := range []struct {
		users, groups   string
		proxies, scopes []string
		says            string
	}{
		{"X-User", "X-Groups", nil, []string{"ops=edit"}, "nobody would be believed"},
		{"X-User", "X-Groups", []string{"10.0.0.5"}, nil, "nobody could do anything"},
		{"X-User", "", []string{"10.0.0.5"}, []string{"ops=edit"}, "no header says who is in ops"},
		{"X-User", "X-Groups", []string{"10.0.0.5"}, []string{"ops=root"}, "not a group with a scope"},
		{"X-User", "X-Groups", []string{"10.0.0.5"}, []string{"=edit"}, "not a group with a scope"},
		{"X-User", "X-Groups", []string{"10.0.0.5"}, []string{"ops"}, "not a group with a scope"},
		{"X-User", "X-Groups", []string{"127.0.0.1"}, []string{"ops=edit"}, "every user of this machine"},
		{"X-User", "X-Groups", []string{"::ffff:127.0.0.1"}, []string{"ops=edit"}, "every user of this machine"},
		{"X-User", "X-Groups", []string{"root@10.0.0.5"}, []string{"ops=edit"}, "users of other machines"},
		{"X-User", "X-Groups", []string{"no-such-user@127.0.0.1"}, []string{"ops=edit"}, "there is no user"},
		{"X-User", "X-Groups", []string{"proxy.example.com"}, []string{"ops=edit"}, "not an address"},
		{"X-User", "X-Groups", []string{"10.0.0.0/8"}, []string{"ops=edit"}, "not an address"},
		{"X-User", "X-Groups", []string{"0.0.0.0"}, []string{"ops=edit"}, "not an address"},
		{"x-user", "X-User", []string{"10.0.0.5"}, []string{"ops=edit"}, "the same"},
		{"authorization", "", []string{"10.0.0.5"}, []string{"*=read"}, "cannot be such a header"},
		{"X User", "", []string{"10.0.0.5"}, []string{"*=read"}, "cannot be such a header"},
	} {
		if _, err := NewHeaderSignIn(tt.users, tt.groups, tt.proxies, tt.scopes); err == nil ||
			!strings.Contains(err.Error(), tt.says) {
			t.Errorf("%+v: %v", tt, err)
		}
	}
	every, err := NewHeaderSignIn("X-User", "", []string{"::ffff:10.0.0.5"}, []string{"*=read"})
	if err != nil || !slices.Equal(every.Proxies, []Proxy{{IP: netip.MustParseAddr("10.0.0.5")}}) {
		t.Errorf("%+v, %v", every, err)
	}
}

// A machine has other addresses than loopback, and each of its users can connect from them.
func TestAProxyAtAnAddressOfThisMachineIsNamedWithItsUser(t *testing.T) {
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		own := netip.MustParsePrefix(a.String()).Addr()
		if own.IsLinkLocalUnicast() {
			continue
		}
		if _, err := parseProxy(own.String()); err == nil {
			t.Errorf("%s is believed, whoever connects from it", own)
		}
		if p, err := parseProxy("root@" + own.String()); err != nil || p.UID != "0" {
			t.Errorf("root@%s: %+v, %v", own, p, err)
		}
	}
}
