package web

import (
	"net/http"
	"net/url"
	"strings"

	"sched/schedule/humanize"
	"sched/schedule/serve"
)

// This file is the pages that write tasks. The first form has the YAML of a task. Its text is then
// shown with the difference and the next times, or with its problems, and a second form saves what
// was shown. Saving and removing are the routes PUT and DELETE, with the ETag of what was seen.

// addEditor adds the pages and the forms that write tasks.
func (p *pages) addEditor() {
	forms := map[string]func(*page) error{
		"GET /new": showNew, "GET /tasks/{name}/edit": showEdit, "POST /edit": showDraft,
	}
	for route, show := range forms {
		method, path, _ := strings.Cut(route, " ")
		p.mux.Handle(method+" "+p.BasePath+path, p.pageHandler(func(page *page) error {
			if !page.Edits() {
				return serve.NewProblem(http.StatusForbidden,
					"sign in with a token of `sched serve token --scope edit`", "%s may %s, and this needs edit",
					page.Who.Name, page.Who.Scope)
			}
			return show(page)
		}, serve.Quick))
	}
	p.addActionForm("/tasks/{id}/save", action{scope: serve.ScopeEdit,
		perform: func(v *serve.Visit, task string) (string, error) {
			_, _, err := serve.Folder{Visit: v}.Save(task, []byte(v.PostFormValue("keys")), v.PostFormValue("tag"),
				v.PostFormValue("reason"))
			return "/tasks/" + url.PathEscape(task), err
		}})
	p.addActionForm("/tasks/{id}/delete", action{scope: serve.ScopeEdit,
		perform: func(v *serve.Visit, task string) (string, error) {
			return "/tasks", serve.Folder{Visit: v}.Remove(task, v.PostFormValue("tag"), v.PostFormValue("reason"))
		}})
}

type editPage struct{ *page }

func showNew(made *page) error {
	p := editPage{made}
	p.title = "New task"
	p.put(`<h1>New task</h1>`)
	p.draftForm(serve.Draft{Keys: "every: day at 9:00\ncommand: echo hello\n"})
	return nil
}

func showEdit(made *page) error {
	p := editPage{made}
	written, err := serve.Folder{Visit: p.Visit}.Written(p.request.PathValue("name"))
	if err != nil {
		return err
	}
	p.title = "Edit " + written.Name
	p.put(`<h1>Edit <a href="%s">%s</a></h1>`, p.taskURL(written.Name), written.Name)
	p.draftForm(written)
	return nil
}

func (p editPage) draftForm(d serve.Draft) {
	p.put(`<form method="post" action="%s/edit" class="draft">`, p.base)
	if d.Tag == "" {
		p.put(`<label>Name <small>letters, digits and . _ : / -</small> <input name="name" value="%s" maxlength="128" required autocomplete="off"></label>`, d.Name)
	} else {
		p.put(`<input type="hidden" name="name" value="%s"><input type="hidden" name="tag" value="%s">`, d.Name, d.Tag)
	}
	p.put(`<label>Its keys, as in schedule.yaml <textarea name="keys" rows="16" spellcheck="false" required>
%s</textarea></label><div class="buttons"><button>Show what changes</button> <small>Nothing is saved yet: the next page shows what changes, and when the task would run.</small></div></form>`, textareaText(d.Keys))
}

// showDraft shows what a form of showNew or showEdit says, and saves nothing.
func showDraft(made *page) error {
	p := editPage{made}
	form := p.request.PostFormValue
	d, err := serve.Folder{Visit: p.Visit}.Check(form("name"),
		strings.ReplaceAll(form("keys"), "\r\n", "\n"), form("tag"))
	p.title = "Save " + d.Name
	p.put(`<h1>%s</h1>`, d.Name)
	switch {
	case err != nil:
		problem := serve.ProblemOf(err)
		p.put(`<p role="alert" class="alert">✕ %s</p><p>%s</p>`, problem.Detail, hintOf(problem))
	case len(d.Problems) > 0:
		p.problems(d)
	default:
		p.changes(d)
	}
	p.put(`<section aria-labelledby="draft-h"><h2 id="draft-h">Change it</h2>`)
	p.draftForm(d)
	p.put(`</section>`)
	return nil
}

// problems lists the problems of a draft, each with the line of the draft that it is about.
func (p editPage) problems(d serve.Draft) {
	lines := strings.Split(d.Keys, "\n")
	p.put(`<section role="alert" aria-labelledby="wrong-h"><h2 id="wrong-h">With this the schedule would be invalid</h2><dl class="facts">`)
	for _, problem := range d.Problems {
		if problem.Place.File != "" {
			p.put(`<dt>%s<dd>%s`, problem.Place.String(), problem.Text)
		} else {
			p.put(`<dt>Line %d<dd><code>%s</code><br>%s`, problem.Place.Line, lines[min(problem.Place.Line, len(lines))-1], problem.Text)
		}
		if problem.Hint != "" {
			p.put(` <small>%s</small>`, problem.Hint)
		}
	}
	p.put(`</dl></section>`)
}

func (p editPage) changes(d serve.Draft) {
	p.put(`<section aria-labelledby="changes-h"><h2 id="changes-h">What changes</h2><pre class="diff">`)
	for _, line := range difference(d.Old, d.Keys) {
		p.put(`<span class="%s">%s</span>`+"\n", map[byte]string{'+': "good", '-': "bad", ' ': ""}[line[0]], line)
	}
	p.put(`</pre><dl class="facts"><dt>Next times<dd>`)
	at := p.now
	for range 5 {
		next, ok := d.Task.NextRun(at)
		if !ok {
			break
		}
		p.put(`<span class="time">%s</span> `, p.timeExact(next, p.zoneOf(d.Task.Name)))
		at = next
	}
	if at.Equal(p.now) {
		p.put(`none: it is not due by itself`)
	}
	p.put(`</dl><form method="post" action="%s/save" class="filter"><input type="hidden" name="tag" value="%s"><textarea name="keys" hidden aria-hidden="true">
%s</textarea><input name="reason" maxlength="500" autocomplete="off" aria-label="Reason" placeholder="why, for the others"><button>Save</button></form></section>`,
		p.taskURL(d.Name), d.Tag, textareaText(d.Keys))
}

// difference returns the lines of two texts, each behind "+" if it is only in the second text, "-"
// if it is only in the first, and else behind a blank. Of very long texts it compares no lines.
func difference(before, after string) (lines []string) {
	const maxPairs = 1 << 20 // pairs of lines
	a, b := strings.Split(strings.TrimSpace(before), "\n"), strings.Split(strings.TrimSpace(after), "\n")
	if before == "" {
		a = nil
	}
	if len(a)*len(b) > maxPairs {
		return []string{"+" + humanize.Count(len(b), "line") + " in the place of " + humanize.Count(len(a), "line")}
	}
	common := make([][]int, len(a)+1) // how many lines a[i:] and b[j:] share
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			lines, i, j = append(lines, " "+a[i]), i+1, j+1
		case i < len(a) && (j == len(b) || common[i+1][j] >= common[i][j+1]):
			lines, i = append(lines, "-"+a[i]), i+1
		default:
			lines, j = append(lines, "+"+b[j]), j+1
		}
	}
	return lines
}
