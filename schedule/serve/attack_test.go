package serve

import (
	"bufio"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sched/schedule/outcome"
	"sched/schedule/state"
	"sched/schedule/view"
	"sched/testing/machine"
)

// raw sends a request as a client that keeps to no rule, and returns its status.
func (b *box) raw(method, path string, headers map[string]string) (status int, body string) {
	b.Helper()
	r, err := http.NewRequest(method, b.web.URL+path, nil)
	if err != nil {
		b.Fatal(err)
	}
	for name, value := range headers {
		if r.Header.Set(name, value); name == "Host" {
			r.Host = value
		}
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	return response.StatusCode, string(text)
}

func TestWhoIsRefusedBeforeAnythingIsLookedAt(t *testing.T) {
	b := newBox(t, shop)
	auth := "Bearer " + b.tokens[ScopeOperate]
	cookie := b.signedIn(ScopeOperate)
	for _, tt := range []struct {
		name, method, path string
		headers            map[string]string
		status             int
		says               string
	}{
		{"a name that was bound to our address again", "GET", "/status",
			map[string]string{"Host": "evil.example:80", "Cookie": cookie}, 403, "is not called"},
		{"an address that is not ours", "GET", "/status",
			map[string]string{"Host": "192.0.2.1", "Authorization": auth}, 403, "is not called"},
		{"no name", "GET", "/status", map[string]string{"Host": " ", "Authorization": auth}, 403, "is not called"},
		{"localhost", "GET", "/status", map[string]string{"Host": "localhost:9", "Authorization": auth}, 200, "verdict"},
		{"our address", "GET", "/status", map[string]string{"Host": "[::1]:9", "Authorization": auth}, 200, "verdict"},
		{"a form of another site, with the cookie", "POST", "/pauses",
			map[string]string{"Sec-Fetch-Site": "cross-site", "Cookie": cookie}, 403, "another site"},
		{"one of another host on this site", "POST", "/pauses",
			map[string]string{"Sec-Fetch-Site": "same-site", "Cookie": cookie}, 403, "another site"},
		{"an old browser on another site", "POST", "/pauses",
			map[string]string{"Origin": "https://evil.example", "Cookie": cookie}, 403, "another site"},
		{"a page of another site with the token", "DELETE", "/pauses/x",
			map[string]string{"Origin": "null", "Authorization": auth}, 403, "another site"},
		{"our own page", "POST", "/pauses",
			map[string]string{"Sec-Fetch-Site": "same-origin", "Cookie": cookie}, 201, "my-operate"},
		{"a token in the query", "GET", "/status?token=" + b.tokens[ScopeRead], nil, 400, "a token is in the URL"},
		{"a token in the query, by whatever name", "GET", "/status?x=" + b.tokens[ScopeRead],
			map[string]string{"Authorization": auth}, 400, "a token is in the URL"},
		{"a token in the path", "GET", "/runs/" + b.tokens[ScopeRead], map[string]string{"Authorization": auth}, 400,
			"a token is in the URL"},
		{"a token in the query, escaped", "GET", "/status?x=%73ched%5F" + b.tokens[ScopeRead][len(tokenStart):],
			map[string]string{"Authorization": auth}, 400, "a token is in the URL"},
		{"a token in the query, escaped twice", "GET", "/status?x=%2573ched_" + b.tokens[ScopeRead][len(tokenStart):],
			map[string]string{"Authorization": auth}, 400, "a token is in the URL"},
		{"a token in the path, escaped", "GET", "/runs/%73ched_" + b.tokens[ScopeRead][len(tokenStart):],
			map[string]string{"Authorization": auth}, 400, "a token is in the URL"},
		{"a parameter for a token, escaped", "GET", "/status?%74oken=x",
			map[string]string{"Authorization": auth}, 400, "a token is in the URL"},
		{"a parameter for a token, in capitals", "GET", "/status?Access_Token=x",
			map[string]string{"Authorization": auth}, 400, "a token is in the URL"},
		{"a task whose name begins as a token", "GET", "/tasks/sched_backup",
			map[string]string{"Authorization": auth}, 404, "there is no task"},
		{"a forecast for no number", "GET", "/forecast?for=NaN",
			map[string]string{"Authorization": auth}, 400, "not a duration"},
		{"a forecast for no number of days", "GET", "/forecast?for=NaNd",
			map[string]string{"Authorization": auth}, 400, "not a duration"},
		{"a forecast without an end", "GET", "/forecast?for=Inf",
			map[string]string{"Authorization": auth}, 400, "not a duration"},
		{"a forecast of infinite days", "GET", "/forecast?for=Infd",
			map[string]string{"Authorization": auth}, 400, "not a duration"},
		{"a forecast that goes back", "GET", "/forecast?for=-2h", map[string]string{"Authorization": auth}, 400, ""},
		{"a forecast that goes back for days", "GET", "/forecast?for=-2d",
			map[string]string{"Authorization": auth}, 400, ""},
		{"a name and a password", "GET", "/status", map[string]string{"Authorization": "Basic YTpi"}, 401,
			"not one of this server"},
		{"the scheme in small letters", "GET", "/status",
			map[string]string{"Authorization": "bearer  " + b.tokens[ScopeRead]}, 200, "verdict"},
		{"no token", "GET", "/status", nil, 401, "a token is needed"},
		{"a cookie that was made up", "GET", "/status", map[string]string{"Cookie": cookieNamed(cookie) + "=x"}, 401,
			"not one of this server"},
		{"the key of a hook as a token", "GET", "/status",
			map[string]string{"Authorization": "Bearer " + b.token(Token{Name: "k", Scope: ScopeHook, Task: "hourly"})},
			401, "not one"},
		{"the hash of a token as one", "GET", "/status",
			map[string]string{"Authorization": "Bearer " + hashOf(b.tokens[ScopeRead])}, 401, "not one"},
		{"a preflight of another site", "OPTIONS", "/pauses",
			map[string]string{"Origin": "https://evil.example"}, 405, ""},
		{"a path out of the folder", "GET", "/runs/..%2f..%2f..%2fetc%2fpasswd/log",
			map[string]string{"Authorization": auth}, 404, "there is no task and no run"},
		{"a cursor that was made up", "GET", "/runs?cursor=AAAA",
			map[string]string{"Authorization": auth}, 400, "the cursor"},
		{"a cursor of the year 300000", "GET", "/runs?cursor=" + cursorOf("9404640000000000000", "x"),
			map[string]string{"Authorization": auth}, 400, "the cursor"},
		{"a cursor of another list", "GET", "/runs?cursor=" + cursorOf("", "hourly"),
			map[string]string{"Authorization": auth}, 400, "the cursor"},
		{"a cursor of tasks with a name that is none", "GET",
			"/tasks?cursor=" + cursorOf("", "nix"), map[string]string{"Authorization": auth}, 400, "the cursor"},
		{"a cursor that is out of the time asked for", "GET", "/upcoming?cursor=" + cursorOf("0", "hourly"),
			map[string]string{"Authorization": auth}, 400, "the cursor"},
		{"the year 300000", "GET", "/runs?since=300000-01-01T00:00:00Z",
			map[string]string{"Authorization": auth}, 400, "not a time"},
		{"a forecast of the year 300000", "GET", "/forecast?since=300000-01-01T00:00:00Z",
			map[string]string{"Authorization": auth}, 400, "not a time"},
		{"a forecast of a century", "GET", "/forecast?for=36500d",
			map[string]string{"Authorization": auth}, 400, "too long"},
		{"the year 0", "GET", "/tasks/hourly/why?at=0000-01-01T00:00:00Z",
			map[string]string{"Authorization": auth}, 400, "not a time"},
		{"the last year there is", "GET", "/tasks/hourly/why?at=9998-12-31T23:59:59Z",
			map[string]string{"Authorization": auth}, 200, `"due": false`},
		{"all slots until then", "GET", "/upcoming?until=9998-01-01T00:00:00Z",
			map[string]string{"Authorization": auth}, 400, "longer than a year"},
		{"so many that there cannot be", "GET", "/runs?limit=999999999999999999999",
			map[string]string{"Authorization": auth}, 400, "from 1 to"},
		{"less than none", "GET", "/runs?limit=-1", map[string]string{"Authorization": auth}, 400, "from 1 to"},
		{"a byte before the first", "GET", "/runs/ffff/log?offset=-1",
			map[string]string{"Authorization": auth}, 400, "bytes"},
		{"an outcome that is none", "GET", "/runs?outcome='%20OR%201=1",
			map[string]string{"Authorization": auth}, 400, "not an outcome"},
		{"a task whose name is SQL", "GET", "/runs?task='%20OR%20''='",
			map[string]string{"Authorization": auth}, 404, "there is no task"},
		{"an outcome that is misspelt", "GET", "/runs?outcome=sucess",
			map[string]string{"Authorization": auth}, 400, "the outcomes are succeeded, failed"},
		{"a task that is misspelt", "GET", "/runs?task=hourli", map[string]string{"Authorization": auth}, 404, `did you mean \"hourly\"?`},
		{"a task of which a script has an empty name", "GET", "/runs?task=",
			map[string]string{"Authorization": auth}, 400, "the parameter task is empty"},
		{"a tag that is misspelt", "GET", "/tasks?tag=y", map[string]string{"Authorization": auth},
			404, "no task has the tag"},
		{"half of all servers", "GET", "/runs?all_servers=1",
			map[string]string{"Authorization": auth}, 400, "neither true nor false"},
		{"a parameter that is misspelt", "GET", "/runs?outcom=failed",
			map[string]string{"Authorization": auth}, 400, `did you mean \"outcome\"?`},
	} {
		status, body := b.raw(tt.method, prefix+tt.path, tt.headers)
		if status != tt.status || !strings.Contains(body, tt.says) {
			t.Errorf("%s: %d, want %d: %s", tt.name, status, tt.status, body)
		}
	}
}

// A reason is bounded in a body and in a header, and no token gets into the audit log with it. NaN,
// infinity and negative numbers are refused.
func TestReasonsAndNumbersThatAreRefused(t *testing.T) {
	b := newBox(t, shop)
	long := strings.Repeat("x", maxReason+1)
	for reason, says := range map[string]string{long: "the reason is longer than 500", "with " +
		b.tokens[ScopeRead]: "a token is in the reason"} {
		body := `{"reason": "` + reason + `"}`
		header := map[string]string{"Sched-Reason": reason, "Content-Type": "application/yaml"}
		for _, c := range []call{
			{method: "POST", route: "/tasks/{name}/trigger", values: []string{"hourly"}, body: body},
			{method: "POST", route: "/pauses", body: body},
			{method: "PUT", route: "/tasks/{name}", values: []string{"new"},
				body: "every: day\ncommand: x\n", headers: header},
		} {
			c.scope = ScopeEdit
			b.wants(c.method+" "+c.route, b.call(c), 400, says)
		}
	}
	b.call(call{scope: ScopeEdit, method: "POST", route: "/pauses", body: `{"tasks": ["hourly"]}`})
	b.wants("the end of a pause", b.call(call{scope: ScopeEdit, method: "DELETE", route: "/pauses/{id}",
		values: []string{"hourly"}, headers: map[string]string{"Sched-Reason": long}}), 400, "the reason is longer")
	for _, number := range []string{"-1", "0", "1e300", "1e999", `"NaN"`, "NaN", "-Infinity"} {
		b.wants("a pause for "+number, b.call(call{scope: ScopeEdit, method: "POST", route: "/pauses",
			body: `{"for": ` + number + `}`}), 400)
		b.wants("a run in "+number, b.call(call{scope: ScopeEdit, method: "POST", route: "/tasks/{name}/trigger",
			values: []string{"hourly"}, body: `{"in": ` + number + `}`}), 400)
	}
	nan := math.NaN()
	form := httptest.NewRequest("POST", "/pauses", nil)
	visit, leave, err := NewVisit(b.server, form.WithContext(withWho(form.Context(), Who{Scope: ScopeOperate})),
		ScopeOperate, Quick)
	if err != nil {
		t.Fatal(err)
	}
	defer leave()
	if _, err := visit.Pause(PauseRequest{For: &nan}); err == nil || ProblemOf(err).Status != 400 {
		t.Errorf("a form for no number: %v", err)
	}
	if _, _, err := NewVisit(b.server, form, ScopeOperate, Quick); err == nil || ProblemOf(err).Status != 403 {
		t.Errorf("a form of somebody who may not operate: %v", err)
	}
	if changes, _, err := b.server.Changes("", 100); err != nil || len(changes) != 1 {
		t.Errorf("%v, %v", changes, err)
	}
}

// However many forecasts one token asks for, it has one made at a time, and another token gets its
// own.
func TestForecastsOfOneTokenDoNotBlockThoseOfAnother(t *testing.T) {
	var text strings.Builder
	text.WriteString("timezone: UTC\ntasks:\n")
	for i := range 1000 {
		fmt.Fprintf(&text, "- {name: task-%d, every: minute, command: \"true\", background: true}\n", i)
	}
	b := newBox(t, text.String())
	ctx, leave := context.WithCancel(t.Context())
	var greedy sync.WaitGroup
	defer greedy.Wait()
	defer leave()
	for n := range 3 * maxForecastPlaces {
		greedy.Go(func() {
			// 45 million slots
			r, _ := http.NewRequestWithContext(ctx, "GET", fmt.Sprintf("%s%s/forecast?for=%dm", b.web.URL, prefix, 31*24*60-n), nil)
			r.Header.Set("Authorization", "Bearer "+b.tokens[ScopeOperate])
			if response, err := http.DefaultClient.Do(r); err == nil {
				response.Body.Close()
			}
		})
	}
	for begun := time.Now(); len(b.server.forecasts) == maxForecasts; time.Sleep(time.Millisecond) {
		if time.Since(begun) > time.Minute {
			t.Fatal("no forecast begins")
		}
	}
	b.wants("the forecast of another", b.call(call{scope: ScopeRead, method: "GET", route: "/forecast",
		query: "?for=1m"}), 200)
	if n := len(b.server.forecasts); n < maxForecasts-1 {
		t.Errorf("%d forecasts are made", maxForecasts-n)
	}
}

// Nothing that is asked for with a GET changes a file of the state folder.
func TestLookingWritesNothing(t *testing.T) {
	b := newBox(t, shop)
	good := b.Ended("hourly", 60, outcome.Succeeded, "hallo")
	b.Remember(good)
	before := b.files()
	for _, r := range routesOf(b.server.Config) {
		if r.method == http.MethodGet && r.path != "/events" {
			b.call(call{scope: ScopeRead, method: "GET", route: r.path, values: []string{good.ID}})
		}
	}
	if after := b.files(); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

func (b *box) files() (all string) {
	filepath.Walk(b.Dir, func(path string, info os.FileInfo, _ error) error {
		if !info.IsDir() && !strings.HasSuffix(path, "-shm") && !strings.HasSuffix(path, "history.lock") {
			all += fmt.Sprintln(path, info.Size(), info.ModTime().UnixNano())
		}
		return nil
	})
	return all
}

// Any user of the machine can send wrong tokens from its address, and must not lock out the others.
// Wrong tokens, links and keys are answered later than right ones, and nothing else.
func TestARightTokenIsLetInHoweverManyWrongOnesCameFromItsAddress(t *testing.T) {
	b := newBox(t, shop)
	hook, badge := b.token(Token{Name: "hook", Scope: ScopeHook, Task: "hourly"}),
		b.token(Token{Name: "badge", Scope: ScopeBadge, Task: "hourly"})
	took := func(what, method, path, token string, want int) time.Duration {
		t.Helper()
		begin := time.Now()
		headers := map[string]string{}
		if token != "" {
			headers["Authorization"] = "Bearer " + token
		}
		if code, body := b.raw(method, prefix+path, headers); code != want {
			t.Errorf("%s: %d, want %d: %s", what, code, want, body)
		}
		return time.Since(begin)
	}
	for range maxWrong {
		took("a guess", "GET", "/status", "guess", 401)
	}
	var guesses sync.WaitGroup
	for range 5 * maxPlaces { // more than there are places for answers
		guesses.Go(func() {
			if d := took("one more guess", "GET", "/status", "guess", 401); d < wrongDelay {
				t.Errorf("a guess was answered after %s", d)
			}
			took("a guess of a hook", "POST", "/hooks/guess", "", 404)
			took("a guess of a badge", "GET", "/badge/guess.svg", "", 404)
			if response, err := http.PostForm(b.web.URL+"/login", url.Values{"code": {"guess"}}); err != nil ||
				response.StatusCode != 401 {
				t.Errorf("a guess of a link: %v, %v", response, err)
			}
		})
	}
	took("a right token", "GET", "/status", b.tokens[ScopeOperate], 200)
	took("a right hook", "POST", "/hooks/"+hook, "", 202)
	took("a right badge", "GET", "/badge/"+badge+".svg", "", 200)
	b.signIn(url.Values{"token": {b.tokens[ScopeRead]}})
	b.signIn(url.Values{"code": {strings.TrimPrefix(b.server.LoginPath(ScopeRead), "/login/")}})
	guesses.Wait()
}

// Delayed answers to wrong tokens on all connections that there may be make nobody wait.
func TestDelayedAnswersMakeWay(t *testing.T) {
	b := newBox(t, shop)
	address := b.listen(8)
	guess := "GET " + prefix + "/status HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer guess\r\n\r\n"
	b.server.access.throttle.byAddress = map[string]wrongAttempts{"127.0.0.1": {count: 1000, since: b.server.Now()}}
	b.server.access.throttle.delay = time.Hour
	for range 24 {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		io.WriteString(conn, guess)
	}
	client := http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	for range 3 {
		response, err := client.Get("http://" + address + prefix + "/healthz")
		if err != nil || response.StatusCode != 200 {
			t.Fatalf("somebody else: %v, %v", response, err)
		}
		response.Body.Close()
	}
}

// listen serves the box at an address of its own with at most a number of connections, as the
// command does.
func (b *box) listen(most int) (address string) {
	b.Helper()
	listener, err := Listen("127.0.0.1:0", false)
	if err != nil {
		b.Fatal(err)
	}
	listener.(*boundedListener).limit = most
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- ServeUntil(ctx, listener, nil, b.server.Handler(nil)) }()
	b.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			b.Error(err)
		}
	})
	return listener.Addr().String()
}

// A token that was revoked is refused at once, and so are the sessions that were begun with it.
func TestRevoking(t *testing.T) {
	b := newBox(t, shop)
	cookie := b.signIn(url.Values{"token": {b.tokens[ScopeOperate]}})
	headers := map[string]string{"Cookie": cookie.Name + "=" + cookie.Value}
	if !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || len(cookie.Value) < 40 {
		t.Errorf("%+v", cookie)
	}
	if code, body := b.raw("GET", prefix+"/status", headers); code != 200 {
		t.Fatal(code, body)
	}
	if err := RevokeToken(b.State(), "my-operate"); err != nil {
		t.Fatal(err)
	}
	if code, _ := b.raw("GET", prefix+"/status", headers); code != 401 {
		t.Errorf("the session: %d", code)
	}
	b.wants("the token", b.call(call{scope: ScopeOperate, method: "GET", route: "/status"}), 401)
	text, _ := os.ReadFile(b.Path(".sched/tokens.json"))
	info, err := os.Stat(b.Path(".sched/tokens.json"))
	if err != nil || info.Mode().Perm() != 0o600 || strings.Contains(string(text), b.tokens[ScopeRead][10:]) {
		t.Errorf("%v, %v, %s", info.Mode(), err, text)
	}
}

// signedIn returns the header of a browser that has signed in with the token of a scope.
func (b *box) signedIn(scope Scope) (cookie string) {
	b.Helper()
	one := b.signIn(url.Values{"token": {b.tokens[scope]}})
	return one.Name + "=" + one.Value
}

func hashOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

func (b *box) signIn(form url.Values) *http.Cookie {
	b.Helper()
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.PostForm(b.web.URL+"/login", form)
	if err != nil {
		b.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusSeeOther || len(response.Cookies()) != 1 {
		b.Fatalf("%s: %v", response.Status, response.Cookies())
	}
	return response.Cookies()[0]
}

// A login link works once: to look at it, as programs that show previews do, does not use it up.
func TestALoginLinkWorksOnce(t *testing.T) {
	b := newBox(t, shop)
	link := b.server.LoginPath(ScopeOperate)
	for range 2 {
		if code, body := b.raw("GET", link, nil); code != 200 || !strings.Contains(body, "Sign in") {
			t.Fatal(code, body)
		}
	}
	form := url.Values{"code": {strings.TrimPrefix(link, "/login/")}}
	cookie := b.signIn(form)
	if code, _ := b.raw("POST", prefix+"/pauses",
		map[string]string{"Cookie": cookie.Name + "=" + cookie.Value}); code != 201 {
		t.Error(code)
	}
	if response, _ := http.PostForm(b.web.URL+"/login", form); response.StatusCode != 401 {
		t.Errorf("again: %s", response.Status)
	}
	if code, body := b.raw("GET", "/login/%22%3E%3Cscript%3E", nil); code != 200 || strings.Contains(body, "<script>") {
		t.Error(code, body)
	}
}

// A body of a gigabyte is refused at once. A body that does not tell its length is refused at 64
// KiB.
func TestABodyOfAGigabyte(t *testing.T) {
	b := newBox(t, shop)
	for name, length := range map[string]int64{"that says so": 1 << 30, "that does not": -1} {
		var sent counter
		r, _ := http.NewRequest("POST", b.web.URL+prefix+"/pauses", io.TeeReader(io.LimitReader(zeros{}, 1<<30), &sent))
		r.ContentLength = length
		r.Header.Set("Authorization", "Bearer "+b.tokens[ScopeOperate])
		r.Header.Set("Content-Type", "application/json")
		response, err := http.DefaultClient.Do(r)
		if err == nil {
			response.Body.Close()
			if response.StatusCode != 413 {
				t.Errorf("a body %s: %s", name, response.Status)
			}
		}
		if sent.n.Load() > 64<<20 {
			t.Errorf("a body %s: %d bytes were taken", name, sent.n.Load())
		}
	}
}

// A client that opens ten thousand connections, and sends nothing or half a request, keeps nobody
// else out, and does not make others wait.
func TestManySlowConnections(t *testing.T) {
	b := newBox(t, shop)
	listener, err := Listen("127.0.0.1:0", false)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	const patience = 2 * time.Minute // long for a busy machine, and less than a header may take
	defer func(usual time.Duration) { HeaderTimeout = usual }(HeaderTimeout)
	HeaderTimeout = 10 * patience
	ended := make(chan error)
	go func() { ended <- ServeUntil(ctx, listener, nil, b.server.Handler(nil)) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	var all []net.Conn
	defer func() {
		for _, conn := range all {
			conn.Close()
		}
	}()
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	many := 10_000 // or as many as the machine permits: one end of each is here, and both ends of some
	if most := int(min(limit.Cur, 1<<20)) - 2*MaxConnections; most < many {
		many = most
	}
	if many < 2*MaxConnections {
		t.Skipf("this process may have only %d files", limit.Cur)
	}
	t.Logf("%d connections", many)
	for i := range many {
		conn, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(i, err)
		}
		all = append(all, conn)
		if i%2 == 0 {
			io.WriteString(conn, "GET /api/v1/healthz HTTP/1.1\r\nHost: local")
		}
	}
	client := http.Client{Timeout: patience, Transport: &http.Transport{}}
	response, err := client.Get("http://" + listener.Addr().String() + prefix + "/healthz")
	if err != nil || response.StatusCode != 200 {
		t.Errorf("somebody else: %v, %v", response, err)
	}
	for _, conn := range []net.Conn{all[0], all[1], all[(many-MaxConnections)/2]} {
		conn.SetReadDeadline(time.Now().Add(patience))
		if text, err := io.ReadAll(conn); err != nil && !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("a slow writer is still there: %q, %v", text, err)
		}
	}
}

// A client that sends a body byte by byte is cut off after a time. Even more such clients than
// there are places for requests keep nobody else from an answer.
func TestManySlowBodies(t *testing.T) {
	slow := func(b *box) (net.Conn, *bufio.Reader) {
		t.Helper()
		conn, err := net.Dial("tcp", b.web.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: 60000\r\n\r\n", prefix+"/pauses", b.tokens[ScopeOperate])
		go func() {
			for range 60_000 {
				if _, err := io.WriteString(conn, " "); err != nil {
					return
				}
				time.Sleep(10 * time.Millisecond)
			}
		}()
		return conn, bufio.NewReader(conn)
	}
	const patience = 30 * time.Second
	b := newBox(t, shop)
	b.server.bodyTimeout = time.Hour
	var all []net.Conn
	for range 3 * maxPlaces {
		conn, _ := slow(b)
		all = append(all, conn)
	}
	client := http.Client{Timeout: patience}
	for range 3 {
		r, _ := http.NewRequest("GET", b.web.URL+prefix+"/status", nil)
		r.Header.Set("Authorization", "Bearer "+b.tokens[ScopeRead])
		response, err := client.Do(r)
		if err != nil || response.StatusCode != 200 {
			t.Fatalf("somebody else: %v, %v", response, err)
		}
		response.Body.Close()
	}
	for _, conn := range all {
		conn.SetReadDeadline(time.Now().Add(time.Millisecond))
		if n, err := conn.Read(make([]byte, 1)); n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("it was not slow: %d, %v", n, err)
		}
	}
	b = newBox(t, shop)
	b.server.bodyTimeout = 200 * time.Millisecond
	conn, reader := slow(b)
	conn.SetReadDeadline(time.Now().Add(patience))
	if line, err := reader.ReadString('\n'); err != nil || !strings.Contains(line, "408") {
		t.Errorf("a slow writer: %q, %v", line, err)
	}
	if _, err := io.ReadAll(reader); err != nil && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("its connection does not end: %v", err)
	}
}

// A connection makes room for others until all of its body has come, on every route. Bodies of
// `POST /login`, for which nobody needs a token, made everybody wait for 15 seconds.
func TestSlowBodiesMakeWayOnEveryRoute(t *testing.T) {
	b := newBox(t, shop)
	b.server.bodyTimeout = time.Hour
	hook := b.token(Token{Name: "hook", Scope: ScopeHook, Task: "hourly"})
	paths := []string{"POST /login", "POST /logout", "POST /tasks/hourly/trigger", "GET /"}
	for _, r := range routesOf(b.server.Config) {
		if r.takesBody() || r.method != http.MethodGet {
			path := strings.NewReplacer("{key}", hook, "{name}", "hourly", "{id}", "hourly").Replace(r.path)
			paths = append(paths, r.method+" "+prefix+path)
		}
	}
	const most = 8
	address := b.listen(most)
	// less than a request may take
	client := http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	for _, path := range paths {
		for range 2 * most {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { conn.Close() })
			fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: 60000\r\n\r\n ", path, b.tokens[ScopeEdit])
		}
		response, err := client.Get("http://" + address + prefix + "/healthz")
		if err != nil || response.StatusCode != 200 {
			t.Errorf("somebody else, during %s: %v, %v", path, response, err)
		}
	}
}

// The number of streams is bounded. A client that does not read delays nobody.
func TestManyStreams(t *testing.T) {
	b := newBox(t, shop)
	open := func() *http.Response {
		r, _ := http.NewRequest("GET", b.web.URL+prefix+"/events", nil)
		r.Header.Set("Authorization", "Bearer "+b.tokens[ScopeRead])
		response, err := (&http.Transport{}).RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { response.Body.Close() })
		return response
	}
	var all []*bufio.Reader
	for range maxStreams {
		response := open()
		if response.StatusCode != 200 {
			t.Fatal(response.Status)
		}
		all = append(all, bufio.NewReader(response.Body))
	}
	if response := open(); response.StatusCode != 503 || response.Header.Get("Retry-After") == "" {
		t.Errorf("one more: %s", response.Status)
	}
	for _, reader := range all[:200] {
		until(t, reader, "event: ready")
	}
	b.Remember(b.Ended("hourly", 1, outcome.Succeeded, ""))
	b.write("schedule.yaml", shop+"  - {name: more, every: day, command: x}\n")
	var heard sync.WaitGroup
	for _, reader := range all[:200] { // the others read nothing
		heard.Go(func() { until(t, reader, "event: schedule") })
	}
	heard.Wait()
}

// until reads a stream until a line comes.
func until(t *testing.T, reader *bufio.Reader, line string) {
	for {
		text, err := reader.ReadString('\n')
		if err != nil {
			t.Errorf("%q did not come: %v", line, err)
			return
		}
		if strings.TrimSpace(text) == line {
			return
		}
	}
}

// The output of a command is answered as it is, as text that no browser takes for anything else.
func TestALogFullOfTerminalCodes(t *testing.T) {
	b := newBox(t, shop)
	const printed = "\x1b]0;title\a\x1b[31mred<script>alert(1)</script>\x00\xff\xfe\r\n"
	r := b.Ended("hourly", 60, outcome.Succeeded, printed)
	b.Remember(r)
	got := b.call(call{scope: ScopeRead, method: "GET", route: "/runs/{id}/log", values: []string{r.ID}})
	if got.body != printed || got.header.Get("Content-Type") != plainText ||
		got.header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%q, %v", got.body, got.header)
	}
	stream := b.call(call{scope: ScopeRead, method: "GET", route: "/runs/{id}/log/stream", values: []string{r.ID}})
	b.wants("the stream", stream, 200, `\u001b[31mred`, `\ufffd\ufffd\r\n`)
	if strings.ContainsAny(stream.body, "\x1b\x00\x07") {
		t.Errorf("%q", stream.body)
	}
	for _, header := range []string{"Content-Security-Policy", "X-Frame-Options", "Referrer-Policy"} {
		if got.header.Get(header) == "" {
			t.Errorf("there is no %s", header)
		}
	}
	if got.header.Get("Access-Control-Allow-Origin") != "" {
		t.Error("other sites may read it")
	}
}

// If the history cannot be read, the answer says so, and has the rest all the same.
func TestAHistoryThatCannotBeRead(t *testing.T) {
	for name, damage := range map[string]func(b *box){
		"damaged": func(b *box) { b.write(".sched/sched.db", strings.Repeat("no database ", 1000)) },
		"newer": func(b *box) {
			file, _ := os.OpenFile(b.Path(".sched/sched.db"), os.O_WRONLY, 0)
			file.WriteAt([]byte{0, 0, 0, 99}, 60) // user_version
			file.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t, shop)
			b.Remember()
			db, err := state.Open(b.State(), state.Patience)
			if err != nil {
				t.Fatal(err)
			}
			db.Close()
			damage(b)
			got := b.call(call{scope: ScopeRead, method: "GET", route: "/runs"})
			b.wants("the runs", got, 503)
			if got.problem(t).Hint == "" {
				t.Errorf("no hint: %s", got.body)
			}
			tasks := b.call(call{scope: ScopeRead, method: "GET", route: "/tasks"})
			b.wants("the tasks", tasks, 200, `"name": "hourly"`)
			if !strings.Contains(strings.Join(tasks.header.Values("Sched-Problem"), "\n"),
				"the history cannot be read") {
				t.Errorf("%v", tasks.header)
			}
			for range 2 { // a forecast without the history is not kept
				ahead := b.call(call{scope: ScopeRead, method: "GET", route: "/forecast"})
				b.wants("a forecast", ahead, 200, `"known": "unknown"`)
				if !strings.Contains(strings.Join(ahead.header.Values("Sched-Problem"), "\n"),
					"the history cannot be read") {
					t.Errorf("%v", ahead.header)
				}
			}
			b.wants("the status", b.call(call{scope: ScopeRead, method: "GET", route: "/status"}), 200, `"trouble": "history"`)
			// The audit log is in the same file: an action that cannot be written down there is not
			// done.
			want, text := 202, ""
			if name == "newer" {
				want, text = 503, "the audit log cannot be written"
			}
			b.wants("a trigger", b.call(call{scope: ScopeOperate, method: "POST", route: "/tasks/{name}/trigger",
				values: []string{"hourly"}}), want, text)
		})
	}
}

// If a program keeps the database locked for longer than a tick does, the answer says so. Nothing
// is done meanwhile, because the audit log is in the database.
func TestAHistoryThatIsLocked(t *testing.T) {
	t.Parallel()
	machine.Slow(t) // it waits as long as a request waits for the lock
	b := newBox(t, shop)
	b.Remember(b.Ended("hourly", 60, outcome.Succeeded, ""))
	db, err := sql.Open("sqlite", b.Path(".sched/sched.db")) // the driver that package state uses
	if err == nil {
		defer db.Close()
		db.SetMaxOpenConns(1)
		// a mere transaction keeps nobody from reading
		_, err = db.Exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE")
	}
	if err != nil {
		t.Fatal(err)
	}
	got := b.call(call{scope: ScopeRead, method: "GET", route: "/runs"})
	b.wants("the runs", got, 503, "kept it locked", "try again")
	if got.header.Get("Retry-After") == "" {
		t.Errorf("%v", got.header)
	}
	b.wants("a trigger", b.call(call{scope: ScopeOperate, method: "POST", route: "/tasks/{name}/trigger",
		values: []string{"hourly"}}), 503, "nothing was done", "try again")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	b.wants("the runs after it", b.call(call{scope: ScopeRead, method: "GET", route: "/runs"}), 200, `"task": "hourly"`)
}

// An address that others reach is refused unless it is told that nothing goes in the clear.
func TestListening(t *testing.T) {
	for _, tt := range []struct {
		address string
		exposed bool
		says    string // "": it listens
	}{
		{"127.0.0.1:0", false, ""},
		{"[::1]:0", false, ""},
		{"localhost:0", false, ""},
		{"0.0.0.0:0", false, "open to other machines"},
		{":0", false, "open to other machines"},
		{"[::]:0", false, "open to other machines"},
		{"example.com:0", false, "open to other machines"},
		{"0.0.0.0:0", true, ""},
		{"7323", false, "not an address"},
		{"unix:" + filepath.Join(t.TempDir(), "sock"), false, ""},
		{"unix:/etc/passwd", false, "is no socket"},
	} {
		l, err := Listen(tt.address, tt.exposed)
		if tt.says == "" && err != nil && !strings.Contains(err.Error(), "cannot assign") ||
			tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)) {
			t.Errorf("%s: %v", tt.address, err)
		}
		if l != nil {
			l.Close()
		}
	}
}

// A client of the socket needs no token, and acts under the name of its user.
func TestTheSocketKnowsWhoAsks(t *testing.T) {
	b := newBox(t, shop)
	path := b.Path("sock")
	listener, err := Listen("unix:"+path, false)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- ServeUntil(ctx, listener, nil, b.server.Handler(nil)) }()
	client := http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn,
		error) {
		return net.Dial("unix", path)
	}}}
	response, err := client.Post("http://sched"+prefix+"/pauses", "application/json", strings.NewReader(`{"tasks": ["hourly"]}`))
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(response.Body)
	if me := view.UserName(os.Geteuid()); decode[page[Pausing]](t, string(body)).Items[0].By != me {
		t.Errorf("%s, not %s", body, me)
	}
	if _, err := Listen("unix:"+path, false); err == nil || !strings.Contains(err.Error(), "somebody listens") {
		t.Errorf("a second one: %v", err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// Behind a proxy the address is the last one of the header, which the proxy has put there. The
// addresses before it came from outside.
func TestBehindAProxy(t *testing.T) {
	b := newBox(t, shop, func(c *Config) { c.BehindProxy, c.BasePath, c.Hosts = true, "/sched", []string{"jobs.example.com"} })
	headers := map[string]string{"Host": "jobs.example.com", "X-Forwarded-For": "10.0.0.1, 192.0.2.7",
		"Authorization": "Bearer " + b.tokens[ScopeOperate]}
	if code, body := b.raw("POST", "/sched"+prefix+"/pauses", headers); code != 201 {
		t.Fatal(code, body)
	}
	b.wants("the audit log", b.call(call{scope: ScopeRead, method: "GET", route: "/audit"}), 200, `"from": "192.0.2.7"`)
	if code, _ := b.raw("GET", prefix+"/healthz", headers); code == 200 {
		t.Error("without the base path")
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

type counter struct{ n atomic.Int64 }

func (c *counter) Write(p []byte) (int, error) { c.n.Add(int64(len(p))); return len(p), nil }
