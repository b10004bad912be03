package lazy_test

import (
	"strings"
	"testing"

	"sched/schedule/lazy"
)

var word = lazy.Regexp{Expr: `([a-z]+)-([0-9]+)`}

func TestRegexp(t *testing.T) {
	if !word.MatchString("task-7") || word.MatchString("task") {
		t.Error("MatchString")
	}
	if got := strings.Join(word.FindStringSubmatch("a task-7"), ","); got != "task-7,task,7" {
		t.Errorf("FindStringSubmatch: %s", got)
	}
	if got := word.FindStringSubmatchIndex("a task-7"); len(got) != 6 || got[0] != 2 || got[5] != 8 {
		t.Errorf("FindStringSubmatchIndex: %v", got)
	}
	if got := word.ReplaceAllString("task-7", "$2"); got != "7" {
		t.Errorf("ReplaceAllString: %s", got)
	}
	if got := word.ReplaceAllStringFunc("a task-7", strings.ToUpper); got != "a TASK-7" {
		t.Errorf("ReplaceAllStringFunc: %s", got)
	}
}
