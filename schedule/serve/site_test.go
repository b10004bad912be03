package serve

import (
	"bufio"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"
)

// newSite makes a site of two schedules, shop and shop2, at /jobs.
func newSite(t *testing.T) (one, two *box, at string) {
	t.Helper()
	mounted := func(name string) func(*Config) {
		return func(c *Config) { c.Mount, c.BasePath = "/s/"+name, "/jobs/s/"+name }
	}
	one, two = newBox(t, shop, mounted("shop")), newBox(t, shop, mounted("shop2"))
	overview := func(w http.ResponseWriter, _ *Site, seen []Sighting) {
		fmt.Fprintf(w, "%d schedules for %s", len(seen), seen[0].Who.Name)
	}
	pages := func(s *Server) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, "a page of %s for %s", s.Mount, whoIs(r.Context()).Name)
		})
	}
	web := httptest.NewServer(NewSite([]*Server{one.server, two.server}, nil, overview, pages))
	t.Cleanup(web.Close)
	one.web.Config.Handler, two.web.Config.Handler = web.Config.Handler, web.Config.Handler
	return one, two, web.URL
}

// tokenOf returns a token that all boxes have.
func tokenOf(all ...*box) (text string) {
	text = tokenStart + newSecret()
	for _, b := range all {
		if err := changeTokens(b.State(), func(all []Token) ([]Token, error) {
			return append(all, Token{Name: "both", Scope: ScopeRead, Hash: tokenHash(text)}), nil
		}); err != nil {
			b.Fatal(err)
		}
	}
	return text
}

func TestEachScheduleOfASiteHasItsOwnPath(t *testing.T) {
	one, two, _ := newSite(t)
	token := map[string]string{"Authorization": "Bearer " + one.tokens[ScopeEdit]}
	for _, tt := range []struct {
		name, method, path string
		headers            map[string]string
		status             int
		says               string
	}{
		{"its API", "GET", "/jobs/s/shop/api/v1/status", token, 200, "verdict"},
		{"its pages", "GET", "/jobs/s/shop/tasks", token, 200, "a page of /s/shop for my-edit"},
		{"the overview", "GET", "/jobs/", token, 200, "1 schedules for my-edit"},
		{"the API of a schedule that does not have the token", "GET", "/jobs/s/shop2/api/v1/status",
			token, 401, "not one of this server"},
		{"a pause there", "POST", "/jobs/s/shop2/api/v1/pauses", token, 401, "not one of this server"},
		{"its pages", "GET", "/jobs/s/shop2/tasks", token, 401, "not one of this server"},
		{"a way round ends at the first schedule", "POST", "/jobs/s/shop/../shop2/api/v1/pauses",
			token, 200, "a page of /s/shop for"},
		{"an escaped way round", "POST", "/jobs/s/shop%2F..%2Fshop2/api/v1/pauses",
			token, 200, "a page of /s/shop for"},
		{"an API of all", "GET", "/jobs/api/v1/status", token, 404, "each schedule is below /jobs/s/NAME/"},
		{"a schedule that is not there", "GET", "/jobs/s/sho/tasks", token, 404, "there is nothing at"},
		{"the stream of all, with a wrong token", "GET", "/jobs/api/v1/events",
			map[string]string{"Authorization": "Bearer x"}, 401, "not one of this server"},
		{"nobody for the stream of all", "GET", "/jobs/api/v1/events", nil, 303, ""},
		{"outside the base path", "GET", "/s/shop/tasks", token, 404, ""},
		{"a wrong token for the overview", "GET", "/jobs/", map[string]string{"Authorization": "Bearer x"}, 401,
			"not one of this server"},
		{"nobody for the overview", "GET", "/jobs/", nil, 303, ""},
		{"nobody for a page", "GET", "/jobs/s/shop/tasks", nil, 303, ""},
		{"another name for the overview", "GET", "/jobs/",
			map[string]string{"Host": "evil.example", "Authorization": token["Authorization"]}, 403, "is not called"},
		{"a token in a URL", "GET", "/jobs/?token=x", token, 400, "a token is in the URL"},
		{"the end of a session, by another site", "POST", "/jobs/logout",
			map[string]string{"Sec-Fetch-Site": "cross-site"}, 403, "another site"},
	} {
		if status, body := one.raw(tt.method, tt.path, tt.headers); status != tt.status ||
			!strings.Contains(body, tt.says) {
			t.Errorf("%s: %d, want %d: %s", tt.name, status, tt.status, body)
		}
	}
	two.wants("the other schedule", two.call(call{scope: ScopeRead, method: "GET", route: "/pauses"}), 200, `"items": []`)
}

// A browser signs in once. A token opens the schedules that hold it, a link opens all, and to sign
// out ends every session.
func TestOneSignInForASite(t *testing.T) {
	one, two, at := newSite(t)
	both := tokenOf(one, two)
	for _, tt := range []struct {
		name   string
		form   url.Values
		status [2]int // of a page of each
	}{
		{"a token of the first", url.Values{"token": {one.tokens[ScopeRead]}}, [2]int{200, 303}},
		{"a token of the second", url.Values{"token": {two.tokens[ScopeRead]}}, [2]int{303, 200}},
		{"a token of both", url.Values{"token": {both}}, [2]int{200, 200}},
		{"a link", url.Values{"code": {strings.TrimPrefix(one.server.LoginPath(ScopeRead), "/jobs/login/")}},
			[2]int{200, 200}},
	} {
		client := browser(t)
		client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		sees := func(when string, want [2]int) {
			for i, path := range []string{"/jobs/s/shop/tasks", "/jobs/s/shop2/tasks"} {
				response, err := client.Get(at + path)
				if err != nil {
					t.Fatal(err)
				}
				if response.Body.Close(); response.StatusCode != want[i] {
					t.Errorf("%s, %s: %s is %s", tt.name, when, path, response.Status)
				}
			}
		}
		if response, err := client.PostForm(at+"/jobs/login", tt.form); err != nil || response.StatusCode != 303 ||
			response.Header.Get("Location") != "/jobs/" {
			t.Fatalf("%s: %v, %v", tt.name, response, err)
		}
		sees("signed in", tt.status)
		address, err := url.Parse(at + "/jobs/")
		if err != nil {
			t.Fatal(err)
		}
		stolen := client.Jar.Cookies(address)
		if response, err := client.PostForm(at+"/jobs/logout", nil); err != nil ||
			response.Header.Get("Location") != "/jobs/login" {
			t.Fatalf("%s: %v, %v", tt.name, response, err)
		}
		sees("signed out", [2]int{303, 303})
		client.Jar.SetCookies(address, stolen)
		sees("with the cookies of before", [2]int{303, 303})
	}
	if response, err := http.PostForm(at+"/jobs/login", url.Values{"token": {"sched_x"}}); err != nil ||
		response.StatusCode != 401 {
		t.Errorf("a wrong token: %v, %v", response, err)
	}
}

// If the tokens of one schedule cannot be read, no schedule has a session that no browser knows.
func TestASignInThatFailsBeginsNoSession(t *testing.T) {
	one, two, at := newSite(t)
	both := tokenOf(one, two)
	if err := os.WriteFile(tokensPath(two.State()), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if response, err := http.PostForm(at+"/jobs/login", url.Values{"token": {both}}); err != nil ||
		response.StatusCode < 500 {
		t.Fatal(response, err)
	}
	all, err := Tokens(one.State())
	if n := sessionsIn(all) + len(one.server.access.tokens.inMemory); n != 0 || err != nil {
		t.Errorf("%d sessions, %v", n, err)
	}
}

// The first page of a site has one stream, which tells what changes in each schedule that the
// caller sees, and in no other one.
func TestOneStreamForASite(t *testing.T) {
	one, two, at := newSite(t)
	both := tokenOf(one, two)
	client := browser(t)
	if _, err := client.PostForm(at+"/jobs/login", url.Values{"token": {both}}); err != nil {
		t.Fatal(err)
	}
	open := func(client *http.Client, token string) *bufio.Reader {
		r, _ := http.NewRequest("GET", at+"/jobs/api/v1/events", nil)
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		response, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { response.Body.Close() })
		return bufio.NewReader(response.Body)
	}
	all, first := open(client, ""), open(http.DefaultClient, one.tokens[ScopeRead])
	until(t, all, "event: ready")
	until(t, first, "event: ready")
	untilHeard := func(event string, change func(n int)) {
		quit, done := make(chan bool), make(chan bool)
		go func() {
			defer close(done)
			for n := 0; ; n++ {
				change(n)
				select {
				case <-quit:
					return
				case <-time.After(1200 * time.Millisecond): // the watcher may have looked for the first time
				}
			}
		}()
		until(t, all, event)
		close(quit)
		<-done
	}
	untilHeard("event: pauses", func(n int) {
		two.call(call{scope: ScopeOperate, method: "POST", route: "/pauses", body: fmt.Sprintf(`{"reason": "%d"}`, n)})
	})
	untilHeard("event: schedule", func(n int) {
		one.write("schedule.yaml", shop+fmt.Sprintf("  - {name: more-%d, every: day, command: x}\n", n))
	})
	for text := ""; text != "event: schedule\n"; {
		var err error
		if text, err = first.ReadString('\n'); err != nil || text == "event: pauses\n" {
			t.Fatalf("%q, %v: somebody hears of a schedule at which they may not look", text, err)
		}
	}
}
