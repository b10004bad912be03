package web

import (
	"fmt"
	"strings"
	"testing"

	"sched/schedule/outcome"
	"sched/schedule/serve"
)

// The page of a failed run leads to its first red line, or to the first line with a word of
// trouble. The log comes before what else is known.
func TestAFailedRunLeadsToItsFirstError(t *testing.T) {
	for name, tt := range map[string]struct{ printed, want string }{
		"red":     {"an error is no trouble here\nfine\n\x1b[1;31mthe disk is full\x1b[0m\nend\n", `line 3</a>`},
		"a word":  {"fine\nERROR: the disk is full\n", `line 2</a>`},
		"no sign": {"fine\n", ""},
	} {
		b := newBox(t, shop, serve.ScopeRead)
		r, good := b.Ended("hourly", 60, outcome.Failed, tt.printed),
			b.Ended("hourly", 120, outcome.Succeeded, tt.printed)
		b.Remember(r, good)
		page := b.get("/runs/"+r.ID, 200)
		if has := strings.Contains(page, "first error: "); has != (tt.want != "") {
			t.Errorf("%s: whether it has an error: %v", name, has)
		}
		if tt.want != "" {
			b.has(name, page, `href="#error">first error: `+tt.want, `<mark id="error">`)
		}
		if strings.Index(page, `id="log"`) > strings.Index(page, `id="facts"`) {
			t.Errorf("%s: the log is below the facts", name)
		}
		b.has("a good run", b.get("/runs/"+good.ID, 200), "not first error")
	}
}

// As `sched why` does.
func TestARunWithoutItsProgramLeadsToDoctor(t *testing.T) {
	b := newBox(t, shop, serve.ScopeRead)
	for code, want := range map[int]string{127: "sched doctor</code> says which programs", 3: "not says which programs"} {
		r := b.Ended("hourly", 60+code, outcome.Failed, "")
		r.ExitCode = &code
		b.Remember(r)
		b.has(r.ID, b.get("/runs/"+r.ID, 200), want)
	}
}

// A search looks at the whole log, and its words are in the URL. A line that it found is shown with
// what surrounds it.
func TestTheWholeLogIsSearched(t *testing.T) {
	b := newBox(t, shop, serve.ScopeRead)
	var printed strings.Builder
	for n := range 40_000 {
		fmt.Fprintf(&printed, "\x1b[32mline\x1b[0m %d\n", n+1)
	}
	r := b.Ended("hourly", 60, outcome.Failed, printed.String()+"the end\n")
	b.Remember(r)
	at := "/runs/" + r.ID
	b.has("without a search", b.get(at, 200), "the end", "not >line</span> 777\n", "64 KiB of")
	found := b.get(at+"?q=LINE+777", 200)
	b.has("a search", found, "11 lines with", "<span>777</span> <code>line 777</code>", "<span>7779</span>",
		`value="LINE 777"`, "End the search")
	_, rest, _ := strings.Cut(found, `<li><a href="`)
	link, _, _ := strings.Cut(rest, `"`)
	link, anchor, _ := strings.Cut(strings.ReplaceAll(link, "&amp;", "&"), "#")
	shown := b.get(at+link, 200)
	b.has(link, shown, "line</span> 770\n", "line</span> 790\n", "To the end", "not the end\n", `aria-current="true"><span>777</span>`)
	b.has(link, shown, `<mark id="`+anchor+`"><span class="f2">line</span> 777`)
	b.has("too many", b.get(at+"?q=line", 200), "The first 100 lines with")
	b.has("nothing", b.get(at+"?q=%3Cnix%3E", 200), "No line has", "&lt;nix&gt;")
}

// A run leads to the runs of its task before and after it.
func TestARunLeadsToItsNeighbours(t *testing.T) {
	b := newBox(t, shop, serve.ScopeRead)
	one, two, three := b.Ended("hourly", 180, outcome.Succeeded, ""), b.Ended("hourly", 120, outcome.Failed, ""),
		b.Ended("hourly", 60, outcome.Succeeded, "")
	b.Remember(one, b.Ended("a/b", 150, outcome.Failed, ""), two, b.Ended("hourly", 90, outcome.Skipped, ""), three)
	b.has("in the middle", b.get("/runs/"+two.ID, 200), `<a href="/runs/`+one.ID+`" rel="prev">`, `<a href="/runs/`+three.ID+`" rel="next">`)
	b.has("the first", b.get("/runs/"+one.ID, 200), `not rel="prev"`, `<a href="/runs/`+two.ID+`" rel="next">`)
	b.has("the last", b.get("/runs/"+three.ID, 200), `not rel="next"`)
}

// A retry is asked for at one time and repeats the slot of another.
func TestTheSlotThatARetryRepeatsIsShown(t *testing.T) {
	b := newBox(t, shop, serve.ScopeRead)
	failed, retry := b.Ended("hourly", 180, outcome.Failed, ""), b.Ended("hourly", 60, outcome.Succeeded, "")
	retry.Origin, retry.Repeats = "retry by ada", failed.Slot
	b.Remember(failed, retry)
	b.has("the retry", b.get("/runs/"+retry.ID, 200), `<dt>Repeats</dt><dd>`, failed.Slot.UTC().Format("15:04"))
	b.has("the first", b.get("/runs/"+failed.ID, 200), `not <dt>Repeats</dt><dd>`)
}

// The attempts of a run are parts of its log, each with a link.
func TestEachAttemptHasALink(t *testing.T) {
	b := newBox(t, shop, serve.ScopeRead)
	r := b.Ended("hourly", 60, outcome.Failed, "one\nsched: attempt 2\ntwo\n")
	r.Attempt.Number = 2
	b.Remember(r)
	b.has("its page", b.get("/runs/"+r.ID, 200), `href="?at=0#line">attempt 1</a>`, `href="?at=4#line">attempt 2</a>`)
}
