package serve

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"sched/schedule/proposal"
)

// proposed leaves a proposal for a task, as `sched propose` does, and returns its id.
func (b *box) proposed(p proposal.Proposal) string {
	b.Helper()
	p.At, p.By, p.Digest = b.server.Now(), "anna/claude", mustLoad(b).Digest
	if _, err := os.Stat(b.Path("schedule.d/" + p.Task + ".yaml")); err == nil {
		seen := b.source(p.Task)
		p.Old, p.Tag = seen.body, seen.header.Get("ETag")
	}
	kept, err := proposal.Add(b.State(), p)
	if err != nil {
		b.Fatal(err)
	}
	return kept.ID
}

func (b *box) review(id string) answer {
	b.Helper()
	return b.call(call{scope: ScopeApprove, method: "GET", route: "/proposals/{id}", values: []string{id}})
}

// decide approves or rejects a proposal.
func (b *box) decide(scope Scope, what, id, body string, headers ...string) answer {
	b.Helper()
	c := call{scope: scope, method: "POST", route: "/proposals/{id}/" + what, values: []string{id}, body: body}
	if len(headers) > 0 {
		c.headers = map[string]string{headers[0]: headers[1]}
	}
	return b.call(c)
}

func (b *box) waiting() string {
	b.Helper()
	return b.call(call{scope: ScopeRead, method: "GET", route: "/proposals"}).body
}

const daily = "every: day at 09:00\ncommand: ./report.sh\n"

// decidesAboutProposals sends the routes about proposals what they answer with each status.
func (b *box) decidesAboutProposals() {
	b.Helper()
	id := b.proposed(proposal.Proposal{Task: "report", Keys: daily, Reason: "it is wanted"})
	b.wants("the proposals", b.call(call{scope: ScopeRead, method: "GET", route: "/proposals"}), 200, id, "anna/claude")
	for _, c := range []call{{scope: ScopeRead, method: "GET", route: "/proposals"},
		{scope: ScopeApprove, method: "GET", route: "/proposals/{id}", values: []string{id}}} {
		c.headers = map[string]string{"If-None-Match": b.call(c).header.Get("ETag")}
		b.wants("what is at hand", b.call(c), 304)
	}
	b.wants("a review", b.review(id), 200, "+every: day at 09:00", `"2026-03-02T09:00:00Z"`, `"problems": []`)
	b.wants("the review of no proposal", b.review("nix"), 404)
	b.wants("a part of an id", b.review(id[:4]), 404, "whole id")
	for _, what := range []string{"approve", "reject"} {
		b.wants(what+" of no proposal", b.decide(ScopeApprove, what, "nix", ""), 404, "no proposal")
		b.wants(what+" with a form", b.decide(ScopeApprove, what, id, "x=1", "Content-Type", "text/plain"), 415)
		large := `{"reason":"` + strings.Repeat("x", MostBody) + `"}`
		b.wants(what+" with a large body", b.decide(ScopeApprove, what, id, large), 413)
		b.wants(what+" for a long reason", b.decide(ScopeApprove, what, id, large[:1000]+`"}`), 400, "longer than 500")
	}
	text := b.read("schedule.yaml")
	b.write("schedule.yaml", text+"  - {name: report, every: day, command: a}\n")
	b.wants("the review of a task that is elsewhere", b.review(id), 409, "report is defined at schedule.yaml")
	b.wants("its approval", b.decide(ScopeApprove, "approve", id, ""), 409, "report is defined at schedule.yaml")
	b.write("schedule.yaml", text+"x-proposals: 1\n")
	b.wants("an approval without rules", b.decide(ScopeApprove, "approve", id, ""), 409, "x-proposals is no mapping")
	unruled := b.proposed(proposal.Proposal{Task: "unruled", Keys: daily})
	b.wants("a rejection without rules", b.decide(ScopeApprove, "reject", unruled, ""), 200, `"task": "unruled"`)
	b.write("schedule.yaml", text)
	b.wants("the approval", b.decide(ScopeApprove, "approve", id, `{"reason": "fine"}`), 200, `"task": "report"`)
	b.wants("the task", b.source("report"), 200, daily)
	b.wants("the audit log", b.call(call{scope: ScopeRead, method: "GET", route: "/audit", query: "?limit=1"}), 200,
		`"who": "my-approve"`, `"action": "write"`, "proposed by anna/claude: it is wanted: fine")
	second := b.proposed(proposal.Proposal{Task: "other", Keys: daily})
	b.wants("a rejection", b.decide(ScopeApprove, "reject", second, `{"reason": "not now"}`), 200, `"task": "other"`)
	b.wants("the audit log", b.call(call{scope: ScopeRead, method: "GET", route: "/audit", query: "?limit=1"}), 200,
		`"action": "reject"`, "proposed by anna/claude: not now")
	if all := b.waiting(); strings.Contains(all, "anna") {
		b.Errorf("some wait still: %s", all)
	}
	third := b.proposed(proposal.Proposal{Task: "other", Keys: daily})
	end := make(chan struct{})
	go proposal.Decide(b.State(), third, b.server.Now(), func(proposal.Proposal) error {
		end <- struct{}{}
		<-end
		return os.ErrInvalid
	})
	<-end
	b.wants("a rejection while somebody decides", b.decide(ScopeApprove, "reject", third, ""), 503, "somebody else")
	end <- struct{}{}
	b.wants("a rejection then", b.decide(ScopeApprove, "reject", third, ""), 200)
}

// Nobody approves, rejects or sees the keys of a proposal but with the scope approve, and a token
// of that scope alone triggers and writes nothing.
func TestOnlyTheScopeApproveDecidesAboutProposals(t *testing.T) {
	b := newBox(t, shop)
	id := b.proposed(proposal.Proposal{Task: "report", Keys: daily})
	for _, scope := range []Scope{ScopeRead, ScopeOperate, ScopeEdit} {
		got := b.call(call{scope: scope, method: "GET", route: "/proposals/{id}", values: []string{id}})
		b.wants(string(scope)+" looks", got, 403, "needs approve")
		b.wants(string(scope)+" approves", b.decide(scope, "approve", id, ""), 403, "needs approve")
		b.wants(string(scope)+" rejects", b.decide(scope, "reject", id, ""), 403, "needs approve")
	}
	if all := b.waiting(); !strings.Contains(all, id) || strings.Contains(all, "report.sh") {
		t.Errorf("who may read sees %s", all)
	}
	b.wants("approve triggers", b.call(call{scope: ScopeApprove, method: "POST", route: "/tasks/{name}/trigger",
		values: []string{"hourly"}}), 403, "needs operate")
	b.wants("approve writes", b.call(call{scope: ScopeApprove, method: "PUT", route: "/tasks/{name}",
		values: []string{"x"}, body: daily, headers: yaml("")}), 403, "needs edit")
	b.tokens["both"] = b.token(Token{Name: "both", Scope: "operate,approve"})
	b.wants("both triggers", b.call(call{scope: "both", method: "POST", route: "/tasks/{name}/trigger",
		values: []string{"hourly"}}), 202)
	b.wants("both approves", b.decide("both", "approve", id, ""), 200)
}

func TestScopesOfGroupsAddUp(t *testing.T) {
	h := &HeaderSignIn{Scopes: map[string]Scope{"ops": ScopeEdit, "leads": ScopeApprove, Everybody: ScopeRead}}
	for groups, want := range map[string]Scope{"": ScopeRead, "ops": ScopeEdit, "leads": ScopeApprove,
		"leads, ops": "edit,approve"} {
		if got := h.scopeOf([]string{groups}); got != want {
			t.Errorf("%q may %q, want %q", groups, got, want)
		}
	}
	for scope, ok := range map[Scope]bool{"": false, "edit,": false, "hook,approve": false, "open": false,
		"approve": true, "operate,approve": true} {
		if scope.OfTokens() != ok {
			t.Errorf("a token may have the scope %q: %v", scope, !ok)
		}
	}
}

// A server without --edit approves into the folder of x-proposals. If it cannot write, it says so.
func TestApprovedTasksGoIntoTheFolderOfTheSchedule(t *testing.T) {
	b := newBox(t, shop, func(c *Config) { c.Edit = "" })
	id := b.proposed(proposal.Proposal{Task: "report", Keys: daily})
	b.wants("without a folder", b.decide(ScopeApprove, "approve", id, ""), 409, "does not say where", "x-proposals")
	b.write("schedule.yaml", shop+"x-proposals: {folder: schedule.d}\n")
	b.wants("with one", b.decide(ScopeApprove, "approve", id, ""), 200)
	b.wants("the task", b.call(call{scope: ScopeRead, method: "GET", route: "/tasks/{name}", values: []string{"report"}}), 200)
	b.wants("no task that a proposal may not set", b.review(b.proposed(proposal.Proposal{Task: "bad",
		Keys: daily + "user: root\n"})), 409, "user cannot be proposed")
	readOnly := newBox(t, shop, func(c *Config) { c.ReadOnly = true })
	r, _ := readOnly.web.Client().Post(readOnly.web.URL+prefix+"/proposals/x/approve", "", nil)
	if r.Body.Close(); r.StatusCode != 404 {
		t.Errorf("a server that only reads answers %s", r.Status)
	}
}

func TestAProposalWhoseTaskHasChangedIsRefused(t *testing.T) {
	b := newBox(t, shop)
	b.wants("a task", b.put("report", daily, ""), 201)
	seen := b.source("report")
	id := b.proposed(proposal.Proposal{Task: "report", Keys: strings.Replace(daily, "09", "10", 1)})
	b.wants("the review", b.review(id), 200, "-every: day at 09:00", "+every: day at 10:00")
	b.wants("a change", b.put("report", strings.Replace(daily, "09", "11", 1), seen.header.Get("ETag")), 200)
	b.wants("the review then", b.review(id), 409, "report has changed since it was proposed", "propose it again")
	b.wants("the approval", b.decide(ScopeApprove, "approve", id, ""), 409, "report has changed since it was proposed")
	if !strings.Contains(b.read("schedule.d/report.yaml"), "day at 11:00") || !strings.Contains(b.waiting(), id) {
		t.Errorf("the task is %s, and %s wait", b.read("schedule.d/report.yaml"), b.waiting())
	}
}

// An assertion that broke since is a problem, which the answer names.
func TestAProposalThatBreaksAnAssertionIsRefused(t *testing.T) {
	b := newBox(t, shop+"assert: [never more than 1 of tag heavy in 10m]\n")
	id := b.proposed(proposal.Proposal{Task: "report", Keys: daily + "tags: [heavy]\n"})
	b.wants("the review", b.review(id), 200, `"holds": true`)
	b.wants("a task at that time", b.put("x", daily+"tags: [heavy]\n", ""), 201)
	b.wants("the review then", b.review(id), 200, "does not hold any more", `"schedule_changed": true`)
	b.wants("the approval", b.decide(ScopeApprove, "approve", id, ""), 409, "cannot be written", "does not hold any more")
}

func TestOneOfTwoApprovalsWins(t *testing.T) {
	b := newBox(t, shop)
	id := b.proposed(proposal.Proposal{Task: "report", Keys: daily})
	var group sync.WaitGroup
	statuses := make([]int, 4)
	for n := range statuses {
		mine := *b
		mine.called = map[string]bool{}
		group.Go(func() { statuses[n] = mine.decide(ScopeApprove, "approve", id, "").status })
	}
	group.Wait()
	won := 0
	for _, status := range statuses {
		switch status {
		case 200:
			won++
		case 404, 409, 503:
		default:
			t.Errorf("an approval is answered with %d", status)
		}
	}
	audit := b.call(call{scope: ScopeRead, method: "GET", route: "/audit"}).body
	if writes := strings.Count(audit, `"action": "write"`); won != 1 || writes != 1 {
		t.Errorf("%v, and the task was written %d times", statuses, writes)
	}
}

// A disk without room leaves the proposal waiting and the schedule as it was. With room again the
// same approval is done.
func TestAnApprovalOnAFullDiskLeavesTheProposalWaiting(t *testing.T) {
	b := newBox(t, shop)
	if exec.Command("mount", "-t", "tmpfs", "-o", "size=64k", "none", b.Path("schedule.d")).Run() != nil {
		t.Skip("a small file system needs root")
	}
	t.Cleanup(func() { exec.Command("umount", "-l", b.Path("schedule.d")).Run() })
	id := b.proposed(proposal.Proposal{Task: "report", Keys: daily})
	if os.WriteFile(b.Path("schedule.d/filler"), make([]byte, 1<<20), 0o600) == nil {
		t.Fatal("the disk is not full")
	}
	b.wants("the approval", b.decide(ScopeApprove, "approve", id, ""), 503, "no space left")
	if _, err := os.Stat(b.Path("schedule.d/report.yaml")); err == nil || !strings.Contains(b.waiting(), id) {
		t.Errorf("the file: %v; %s", err, b.waiting())
	}
	os.Remove(b.Path("schedule.d/filler"))
	b.wants("the approval with room", b.decide(ScopeApprove, "approve", id, ""), 200)
	b.wants("the task", b.source("report"), 200, daily)
}

// A long reason of who proposed leaves room for who approves: both are in the log.
func TestALongReasonOfAProposalIsCut(t *testing.T) {
	b := newBox(t, shop)
	id := b.proposed(proposal.Proposal{Task: "report", Keys: daily, Reason: strings.Repeat("ä", maxReason)})
	body, _ := json.Marshal(Reason{strings.Repeat("x", 100)})
	b.wants("the approval", b.decide(ScopeApprove, "approve", id, string(body)), 200)
	b.wants("the audit log", b.call(call{scope: ScopeRead, method: "GET", route: "/audit"}), 200,
		"proposed by anna/claude: ä", "ä: "+strings.Repeat("x", 100))
}
