package web

import (
	"embed"
	"fmt"
	"html/template"
	"net/url"
	"strings"
	"sync"
	"text/template/parse"
	"time"

	"sched/schedule/humanize"
	"sched/schedule/view"
)

//go:embed pages/*.html
var pageFiles embed.FS

// templates are the files of the folder pages, by their names. They are parsed for the first page,
// so other commands pay nothing for them.
var templates = sync.OnceValue(func() *template.Template {
	all := template.New("pages").Funcs(template.FuncMap{
		"line": line, "look": lookOf, "ended": endedLook, "details": details,
		"at": parseTime, "duration": humanize.Duration, "seconds": secondsText, "clock": clockText,
		"count": humanize.Count, "bytes": humanize.Bytes, "numbers": numbersText, "join": strings.Join,
		"shortRun": humanize.ShortRun, "place": view.Place, "pathPart": url.PathEscape, "fact": newFact,
	})
	template.Must(all.ParseFS(pageFiles, "pages/*.html"))
	for _, t := range all.Templates() {
		if t.Tree != nil {
			makeLines(t.Tree.Root)
		}
	}
	return all
})

// makeLines has all values of a template pass the function line, as html/template has them pass the
// functions that escape.
func makeLines(node parse.Node) {
	within := func(branch *parse.BranchNode) {
		makeLines(branch.List)
		if branch.ElseList != nil {
			makeLines(branch.ElseList)
		}
	}
	switch node := node.(type) {
	case *parse.ListNode:
		for _, child := range node.Nodes {
			makeLines(child)
		}
	case *parse.IfNode:
		within(&node.BranchNode)
	case *parse.RangeNode:
		within(&node.BranchNode)
	case *parse.WithNode:
		within(&node.BranchNode)
	case *parse.ActionNode:
		if len(node.Pipe.Decl) == 0 {
			call := &parse.CommandNode{NodeType: parse.NodeCommand,
				Args: []parse.Node{parse.NewIdentifier("line").SetTree(nil)}}
			node.Pipe.Cmds = append(node.Pipe.Cmds, call)
		}
	}
}

// verbatim is a text that stays as it is, with its lines, for a textarea.
type verbatim string

// line makes one line of a foreign text, without characters that turn the direction of the text
// behind them. It leaves what this package has drawn, and numbers.
func line(value any) any {
	switch value := value.(type) {
	case template.HTML, int, int64:
		return value
	case verbatim:
		return strings.ToValidUTF8(string(value), "\uFFFD")
	case string:
		return humanize.Line(strings.ToValidUTF8(value, "\uFFFD"))
	case *int:
		return *value
	}
	return line(fmt.Sprint(value))
}

// A fact is an entry of a list of facts, which a page leaves out if it has no text.
type fact struct{ Label, Text string }

func newFact(label, text string) fact { return fact{label, text} }

// numbersText lists numbers.
func numbersText(all []int) string { return strings.Trim(fmt.Sprint(all), "[]") }

// secondsText writes a duration in seconds, as objects of package view have it.
func secondsText(s float64) string { return humanize.Duration(time.Duration(s * float64(time.Second))) }

// clockText says how far a clock is from the clock of the store; less than a second counts as
// right.
func clockText(offset float64) string {
	d := time.Duration(offset * float64(time.Second))
	switch {
	case d.Abs() < time.Second:
		return "right"
	case d > 0:
		return humanize.Duration(d) + " ahead"
	}
	return humanize.Duration(-d) + " behind"
}

// parseTime reads a time of an object of package view; the zero time for none.
func parseTime(text string) time.Time {
	at, _ := time.Parse(time.RFC3339, text)
	return at
}
