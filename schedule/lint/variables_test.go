package lint_test

import (
	"strings"
	"testing"

	"sched/schedule/lint"
	"sched/schedule/load"
)

func TestVariablesThatSchedDoesNotSet(t *testing.T) {
	for _, test := range []struct {
		task string
		want string // in the warning or its hint; empty for no warning
	}{
		{`command: 'echo $SCHED_TASKS'`, "did you mean $SCHED_TASK?"},
		{`command: 'echo "${SCHED_SLOTS}"'`, "did you mean $SCHED_SLOT?"},
		{`command: 'echo $SCHED_TSAK'`, "command: sched sets no variable SCHED_TSAK"},
		{`command: 'echo $SCHED_PURPLE_COW'`, "what a command finds"},
		{`command: 'echo $SCHED_OUTCOME'`, "it is set for hooks after a run"},
		{`command: 'x', before: 'echo $SCHED_REASON'`, "before: $SCHED_REASON is empty here"},
		{`command: 'x', when: 'test $SCHED_MINUTE'`, "when: sched sets no variable SCHED_MINUTE"},
		{`command: 'x', on_failure: 'echo $SCHED_REASONS'`, "did you mean $SCHED_REASON?"},
		{`command: 'echo rows=4 >> "$SCHED_REPORT"'`, "write `report: {rows: {}}`"},

		{`command: 'echo $SCHED_TASK ${SCHED_RUN} $SCHED_NOMINAL'`, ""},
		{`command: 'echo rows=4 >> $SCHED_REPORT', report: {rows: {}}`, ""},
		{`command: 'echo rows=4 >> ${SCHED_REPORT:-/dev/null}'`, ""},
		{`command: 'echo $SCHED_SERVER'`, ""},
		{`command: 'x', on_failure: 'echo $SCHED_REASON $SCHED_VALUE_rows'`, ""},
		{`command: 'x', after: 'echo $SCHED_OUTCOME'`, ""},
		{`command: 'echo ${SCHED_OUTCOME:-none}'`, ""},
		{`command: 'SCHED_BIN=/opt/sched; $SCHED_BIN list'`, ""},
		{`command: 'read SCHED_X; echo $SCHED_X'`, ""},
		{`command: 'echo "\$SCHED_X"'`, ""},
		{`command: 'echo $SCHED_BIN', env: {SCHED_BIN: a}`, ""},
		{`command: 'echo $SCHED_BIN', env_file: x.env`, ""},
		{`command: 'echo $SCHED_HERE'`, ""},
		{`command: [echo, '$SCHED_X/x']`, ""},
		{`command: 'echo $SCHED_TSAK', enabled: false`, ""},
	} {
		s, err := load.Text([]byte("tasks: [{name: a, every: hour, "+test.task+"}]"), "/srv/schedule.yaml", load.Options{})
		if err != nil {
			t.Fatal(test.task, err)
		}
		warnings := lint.UnknownVariables(s, []string{"SCHED_HERE=1"})
		if len(warnings) > 0 != (test.want != "") ||
			len(warnings) > 0 && !strings.Contains(warnings[0].Text+" "+warnings[0].Hint, test.want) {
			t.Errorf("%s: %v", test.task, warnings)
		}
	}
}
