//go:build linux

package cluster_test

import (
	"fmt"
	"net/url"
	"os/exec"
	"strings"
	"testing"
	"time"

	"sched/schedule/outcome"
	"sched/testing/redistest"
	"sched/testing/schedtest"
)

// Somebody who can write to the Redis makes up runs that name a file of this server as their
// output. Nothing shows that file, whatever server and id the record claims, and the records of our
// own runs stay as they are.
func TestARecordFromTheStoreNamesNoFile(t *testing.T) {
	t.Parallel()
	store := redistest.Start(t)
	s := newServers(t, 1, store.URL, "tasks: [{name: one, cron: 0 0 1 1 *, command: echo ours}]\n")[0]
	if out, code, _ := s.tick("--at", "2026-01-01 00:00"); code != 0 {
		t.Fatal(out)
	}
	own := s.History("one")[0].Run
	const secret = "the secret of the machine"
	s.Write("secret.log", secret+"\n")
	s.Write("secret.hooks.log", secret+"\n")

	ids := []string{own, outcome.NewID(), outcome.NewID(), strings.ToUpper(outcome.NewID()), "../../secret", "..",
		s.Path("secret"), "", "1234"}
	records := redistest.Dial(t, store.URL)
	put := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for i, id := range ids {
		for _, server := range []string{"web-1", "web-2", "../web-1", ""} {
			if i == 1 && server == "web-2" || i == 2 && server == "web-1" {
				continue // one id is of this server alone, and one of another
			}
			record := fmt.Sprintf(`{"run":%q,"task":"one","mutex":"one","slot":"2026-01-01T00:01:00Z","server":%q,"started":"2026-01-01T00:01:00Z",`+
				`"ended":"2026-01-01T00:01:01Z","outcome":"succeeded","attempts":1,"output":%q,"locks":%q}`, id, server, s.Path("secret.log"), s.Dir)
			put(records.Append(t.Context(), "runs", 10_000, []byte(record),
				[]byte(strings.Replace(record, "succeeded", "", 1))))
			put(records.Put(t.Context(), "last", "one@"+server, []byte(record), time.Hour))
		}
		if i <= 2 {
			continue // these have ended
		}
		now := fmt.Sprintf(`{"name":"web-%d","seen":%q,"running":[{"run":%q,"task":"one","slot":"2026-01-01T00:01:00Z","since":"2026-01-01T00:01:00Z"}]}`,
			i+5, time.Now().UTC().Format(time.RFC3339), id)
		put(records.Put(t.Context(), "ticks", fmt.Sprint("web-", i+5), []byte(now), time.Hour))
		put(records.Put(t.Context(), "now", fmt.Sprint("web-", i+5), []byte(now), time.Hour))
	}

	safe := func(what, shown string) {
		t.Helper()
		for _, leak := range []string{secret, s.Path("secret.log")} {
			if strings.Contains(shown, leak) {
				t.Errorf("%s shows %q:\n%s", what, leak, shown)
			}
		}
	}
	for _, args := range [][]string{{"history", "--all-servers", "--json"}, {"list", "--json"}, {"servers", "--json"},
		{"why", "one", "--json"}} {
		out, _ := s.sched(args...)
		safe(strings.Join(args, " "), out)
		if strings.Contains(out, `"run": ".`) || strings.Contains(out, `"run": ""`) || strings.Contains(out, `"run": "1234"`) {
			t.Errorf("%s has what is no id:\n%s", args[0], out)
		}
	}
	api := s.Serve(func(c *exec.Cmd) { c.Env = append(c.Env, s.env...) })
	pages := &schedtest.API{Box: api.Box, Cmd: api.Cmd, URL: strings.TrimSuffix(api.URL, "/api/v1"), Token: api.Token}
	for _, id := range ids {
		for _, name := range []string{id, id[max(0, len(id)-12):]} {
			for _, args := range [][]string{{"logs", name}, {"logs", "-f", name}, {"stop", name}, {"retry", name}} {
				out, code := s.sched(args...)
				safe(strings.Join(args, " "), out)
				if ours := strings.HasSuffix(own, name) && name != ""; args[0] == "logs" && (code == 0) != ours {
					t.Errorf("%q: exit code %d\n%s", args, code, out)
				}
			}
			for _, route := range []string{"", "/log", "/log?hooks=true", "/log/stream"} {
				path := "/runs/" + url.PathEscape(name) + route
				_, body := api.Ask("GET", path, "")
				safe("GET "+path, body)
				_, body = pages.Ask("GET", path, "")
				safe("the page "+path, body)
			}
		}
	}
	if out, code := s.sched("logs", own); code != 0 || out != "ours\n" {
		t.Errorf("the log of our own run: exit code %d, %q", code, out)
	}
	if out, code := s.sched("logs", ids[2]); code != 1 || !strings.Contains(out, "is on web-2: `sched logs ") {
		t.Errorf("the log of another server's run: exit code %d, %s", code, out)
	}
	if status, body := api.Ask("GET", "/runs/"+ids[2]+"/log", ""); status != 409 ||
		!strings.Contains(body, "is on web-2: `sched logs ") {
		t.Errorf("the log of another server's run: %d %s", status, body)
	}
	if status, body := api.Ask("GET", "/runs/"+own+"/log", ""); status != 200 || body != "ours\n" {
		t.Errorf("the log of our own run: %d %s", status, body)
	}
}
