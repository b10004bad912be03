package web

import (
	"net/url"
	"strings"
	"testing"

	"sched/schedule/proposal"
	"sched/schedule/serve"
	"sched/testing/controltest"
)

// newReviewer makes a box in which two tasks are proposed, for somebody with that scope. It returns
// the ids of the proposals: the first can be approved, and the second is of a task that is
// elsewhere.
func newReviewer(t *testing.T, scope serve.Scope) (b *box, good, bad string) {
	t.Helper()
	b = newBox(t, "timezone: UTC\ninclude: [schedule.d/*.yaml]\nx-proposals: {folder: schedule.d}\n"+
		"tasks:\n  - {name: fixed, every: hour, command: \"true\"}\n", scope,
		func(c *serve.Config) { c.Approve = true })
	for id, task := range map[*string]string{&good: "report", &bad: "fixed"} {
		p, err := proposal.Add(b.State(), proposal.Proposal{Task: task, By: "anna/<b>claude</b>", At: controltest.Noon,
			Keys: "every: day at 09:00\ncommand: echo '<script>alert(1)</script>'\n", Reason: "</td><img src=x>"})
		if err != nil {
			t.Fatal(err)
		}
		*id = p.ID
	}
	return b, good, bad
}

// A person who may approve sees on pages what would change, and approves or rejects it there. Texts
// of who proposes are text.
func TestProposalsAreDecidedOnPages(t *testing.T) {
	b, good, bad := newReviewer(t, serve.ScopeApprove)
	b.has("/", b.get("/", 200), `<a href="/proposals">2 proposals</a>`)
	list := b.get("/proposals", 200)
	b.has("/proposals", list, `href="/proposals/`+good+`"`, "&lt;b&gt;claude", "&lt;img", "not <b>claude", "not <img")
	page := b.get("/proposals/"+good, 200)
	b.has("a proposal", page, `<span class="good">+every: day at 09:00</span>`, "2026-03-02 09:00:00 UTC",
		"2026-03-06 09:00:00 UTC", "&lt;script&gt;alert(1)", "not <script>", "not <b>claude", "175 starts for 168", ">Approve<", ">Reject<")
	b.has("what cannot be approved", b.get("/proposals/"+bad, 200), "fixed is defined at schedule.yaml",
		"not >Approve<", ">Reject<")
	b.get("/proposals/nix", 404)
	form := url.Values{"reason": {"it is right"}}
	if to := b.send("POST", "/proposals/"+good+"/approve", form, 303); to != "/tasks/report" {
		t.Errorf("an approval leads to %s", to)
	}
	b.has("the task", b.get("/tasks/report", 200), "schedule.d/report.yaml")
	if to := b.send("POST", "/proposals/"+bad+"/reject", form, 303); to != "/proposals" {
		t.Errorf("a rejection leads to %s", to)
	}
	b.has("the list", b.get("/proposals", 200), "Nothing is proposed")
	b.has("the overview", b.get("/", 200), "not Proposed")
	b.has("the audit", b.get("/audit", 200), "proposed by anna/&lt;b&gt;claude&lt;/b&gt;", "it is right", "ada")
	b.send("POST", "/proposals/"+good+"/approve", form, 404)
	b.send("POST", "/proposals/"+good+"/approve", form, 403, "Sec-Fetch-Site", "cross-site")
}

func TestPagesOfProposalsNeedTheScopeApprove(t *testing.T) {
	for _, scope := range []serve.Scope{serve.ScopeRead, serve.ScopeOperate, serve.ScopeEdit} {
		b, good, _ := newReviewer(t, scope)
		list := b.get("/proposals", 200)
		b.has("/proposals", list, "report", "not href=\"/proposals/"+good, "A token of the scope", "not alert(1)")
		for _, what := range []string{"approve", "reject"} {
			if page := b.send("POST", "/proposals/"+good+"/"+what, url.Values{}, 403); !strings.Contains(page, "needs approve") {
				t.Errorf("%s with %s says %s", what, scope, page)
			}
		}
		b.get("/proposals/"+good, 403)
	}
}
