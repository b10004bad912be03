package web

import (
	"net/http"
	"net/url"
	"strings"

	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/serve"
)

// This file is the pages that write tasks. The first form has the YAML of a task. Its text is then
// shown with the difference and the next times, or with its problems, and a second form saves what
// was shown. Saving and removing are the routes PUT and DELETE, with the ETag of what was seen.

// A draftPage has the form for the keys of a task. The pages new and edit have no more; the page
// draft shows what the form said, too.
type draftPage struct {
	*page
	Draft   serve.Draft
	Problem *serve.Problem // why the draft cannot be checked
	Hint    string         // what to do about Problem

	Difference []changedLine
	NextTimes  []moment
}

// A changedLine is a line of the difference.
type changedLine struct{ Text, Class string }

// editorForms returns what the forms that write tasks do, by their paths.
func editorForms() map[string]sender {
	save := action{scope: serve.ScopeEdit, perform: func(v *serve.Visit, task string) (string, error) {
		_, _, err := serve.Folder{Visit: v}.Save(task, []byte(v.PostFormValue("keys")), v.PostFormValue("tag"),
			v.PostFormValue("reason"))
		return "/tasks/" + url.PathEscape(task), err
	}}
	remove := action{scope: serve.ScopeEdit, perform: func(v *serve.Visit, task string) (string, error) {
		return "/tasks", serve.Folder{Visit: v}.Remove(task, v.PostFormValue("tag"), v.PostFormValue("reason"))
	}}
	return map[string]sender{"/tasks/{id}/save": senderOf(save), "/tasks/{id}/delete": senderOf(remove)}
}

// forEditors lets only those read a page who may edit.
func forEditors(read func(*page) (*draftPage, error)) func(*page) (*draftPage, error) {
	return func(p *page) (*draftPage, error) {
		if !p.Edits() {
			return nil, serve.NewProblem(http.StatusForbidden,
				"sign in with a token of `sched serve token --scope edit`", "%s may %s, and this needs edit",
				p.Who.Name, p.Who.Scope)
		}
		return read(p)
	}
}

func readNew(p *page) (*draftPage, error) {
	p.title = "New task"
	return newDraft(p, serve.Draft{Keys: "every: day at 9:00\ncommand: echo hello\n"}), nil
}

func readEdit(p *page) (*draftPage, error) {
	written, err := serve.Folder{Visit: p.Visit}.Written(p.request.PathValue("name"))
	p.title = "Edit " + written.Name
	return newDraft(p, written), err
}

func newDraft(p *page, d serve.Draft) *draftPage {
	return &draftPage{page: p, Draft: d}
}

// readDraft reads what a form of the pages new and edit says, and saves nothing.
func readDraft(p *page) (*draftPage, error) {
	form := p.request.PostFormValue
	d, err := serve.Folder{Visit: p.Visit}.Check(form("name"),
		strings.ReplaceAll(form("keys"), "\r\n", "\n"), form("tag"))
	p.title = "Save " + d.Name
	shown := newDraft(p, d)
	switch {
	case err != nil:
		shown.Problem = serve.ProblemOf(err)
		shown.Hint = hintOf(shown.Problem)
		return shown, nil
	case len(d.Problems) > 0:
		return shown, nil
	}
	shown.Difference = changedLines(humanize.Difference(d.Old, d.Keys))
	at := p.now
	for range 5 {
		next, ok := d.Task.NextRun(at)
		if !ok {
			break
		}
		shown.NextTimes = append(shown.NextTimes, p.Exact(next, d.Task.Name))
		at = next
	}
	return shown, nil
}

// changedLines returns the lines of a difference with their colours.
func changedLines(difference []string) (all []changedLine) {
	for _, line := range difference {
		class := map[byte]string{'+': "good", '-': "bad", ' ': ""}[line[0]]
		all = append(all, changedLine{line, class})
	}
	return all
}

// LineOf returns the line of the draft that a problem is about.
func (d *draftPage) LineOf(problem schedule.Problem) string {
	lines := strings.Split(d.Draft.Keys, "\n")
	return lines[min(problem.Place.Line, len(lines))-1]
}

// hintOf returns what to do about a problem. Nobody can send an ETag from a page.
func hintOf(problem *serve.Problem) string {
	switch problem.Status {
	case http.StatusPreconditionRequired:
		return "choose another name, or edit the task that is there"
	case http.StatusPreconditionFailed:
		return "keep a copy of what you wrote, and edit the task as it is now"
	}
	return problem.Hint
}
