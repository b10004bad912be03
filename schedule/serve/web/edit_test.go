package web

import (
	"html"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"sched/schedule/serve"
)

func newEditor(t *testing.T, scope serve.Scope) *box {
	t.Helper()
	dir := ""
	b := newBox(t, "timezone: UTC\ninclude: [schedule.d/*.yaml]\ntasks:\n  - {name: fixed, every: hour, command: \"true\"}\n", scope,
		func(c *serve.Config) { dir = strings.TrimSuffix(c.StateDir, ".sched") + "schedule.d"; c.Edit = dir })
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return b
}

var tagField = regexp.MustCompile(`name="tag" value="([^"]+)"`)

// tagOn is the ETag of the task that a page shows.
func (b *box) tagOn(path string) string {
	b.Helper()
	found := tagField.FindStringSubmatch(b.get(path, 200))
	if found == nil {
		b.Fatalf("%s has no ETag", path)
	}
	return html.UnescapeString(found[1])
}

// A task is made, changed and deleted with pages. Before it is saved, a page says what changes and
// when it would run; the text that was saved is the text that was typed.
func TestATaskIsMadeChangedAndDeletedWithPages(t *testing.T) {
	b := newEditor(t, serve.ScopeEdit)
	b.has("/tasks", b.get("/tasks", 200), `href="/new"`)
	b.has("/new", b.get("/new", 200), `<textarea name="keys"`)
	keys := "every: day at 9:00\r\ncommand: \"printf 'a\tb'\" # a <tab>\r\n"
	asks := url.Values{"name": {"team/report"}, "keys": {keys}}
	b.has("what would be", b.send("POST", "/edit", asks, 200), `<span class="good">+every: day at 9:00</span>`,
		"2026-03-02 09:00:00 UTC", "2026-03-06 09:00:00 UTC", "not 2026-03-07 09", ">Save<")
	b.get("/tasks/team%2Freport", 404)
	asks.Set("reason", "the board wants it")
	if to := b.send("POST", "/tasks/team%2Freport/save", asks, 303); to != "/tasks/team%2Freport" {
		t.Errorf("it leads to %s", to)
	}
	b.has("the task", b.get("/tasks/team%2Freport", 200), "schedule.d/team+report.yaml", `href="/tasks/team%2Freport/edit"`, "Delete…")
	edit := b.get("/tasks/team%2Freport/edit", 200)
	b.has("edit", edit, html.EscapeString(strings.ReplaceAll(keys, "\r\n", "\n")))

	tag := b.tagOn("/tasks/team%2Freport/edit")
	asks = url.Values{"name": {"team/report"}, "tag": {tag}, "keys": {strings.Replace(keys, "9:00", "8:30", 1)}}
	b.has("what changes", b.send("POST", "/edit", asks, 200), `<span class="bad">-every: day at 9:00</span>`, `<span class="good">+every: day at 8:30</span>`, "2026-03-02 08:30:00 UTC")
	b.send("POST", "/tasks/team%2Freport/save", asks, 303)
	b.has("a save of an older one", b.send("POST", "/tasks/team%2Freport/save", asks, http.StatusPreconditionFailed),
		"somebody has changed team/report", "edit the task as it is now", "not GET it")
	b.has("a look at an older one", b.send("POST", "/edit", asks, 200),
		"somebody has changed team/report", "not >Save<", "8:30", "edit the task as it is now")
	asks.Del("tag")
	b.has("a new task of that name", b.send("POST", "/edit", asks, 200), "is there already", "choose another name")

	b.send("POST", "/tasks/team%2Freport/delete", url.Values{"tag": {tag}}, http.StatusPreconditionFailed)
	b.send("POST", "/tasks/team%2Freport/delete",
		url.Values{"tag": {b.tagOn("/tasks/team%2Freport")}, "reason": {"nobody reads it"}}, 303)
	b.get("/tasks/team%2Freport", 404)
	b.has("/audit", b.get("/audit", 200), "the board wants it", "nobody reads it")
}

// A draft that would break the schedule is not saved. Its problems are at their lines, and what was
// typed stays.
func TestADraftHasItsProblemsAtTheirLines(t *testing.T) {
	b := newEditor(t, serve.ScopeEdit)
	asks := url.Values{"name": {"a"}, "keys": {"every: hour\ncomand: <b>\n"}}
	b.has("the draft", b.send("POST", "/edit", asks, 200), "<dt>Line 2</dt><dd><code>comand: &lt;b&gt;</code>",
		"did you mean", "not >Save<", "comand: &lt;b&gt;\n</textarea>")
	b.has("a name", b.send("POST", "/edit", url.Values{"name": {"../a"}, "keys": {"every: hour\n"}}, 200),
		"cannot be a name")
	b.has("a task of another file", b.send("POST", "/edit", url.Values{"name": {"fixed"}, "keys": {"every: hour\n"}},
		200), "fixed is defined at schedule.yaml:4")
	b.has("its page", b.get("/tasks/fixed", 200), "It cannot be edited here: fixed is defined at schedule.yaml:4")
	b.send("POST", "/tasks/a/save", asks, http.StatusUnprocessableEntity)
}

func TestOnlyWhoMayEditSeesTheEditor(t *testing.T) {
	b := newEditor(t, serve.ScopeOperate)
	b.has("/tasks", b.get("/tasks", 200), "not /new")
	b.has("/tasks/fixed", b.get("/tasks/fixed", 200), "not edited here")
	asks := url.Values{"name": {"a"}, "keys": {"every: hour\ncommand: \"true\"\n"}}
	for _, path := range []string{"/edit", "/tasks/a/save", "/tasks/a/delete"} {
		b.send("POST", path, asks, http.StatusForbidden)
	}
	b.get("/new", http.StatusForbidden)
	b.get("/tasks/fixed/edit", http.StatusForbidden)
	without := newBox(t, shop, serve.ScopeEdit)
	without.get("/new", http.StatusNotFound)
	without.has("/tasks", without.get("/tasks", 200), "not /new")
}
