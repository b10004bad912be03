package servers

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"sched/schedule/outcome"
)

// What a server tells is shown by others, on terminals and in logs: they take it from no name that could steer one, and nothing that is torn.
func TestDeferredRetriesThatNoSchedToldOfAreLeftOut(t *testing.T) {
	now := time.Now().UTC().Truncate(time.Second)
	told := DeferredRetry{Server: "web-1", Attempt: 2, Until: now, Record: outcome.Record{Run: outcome.NewID(), Task: "import"}}
	steers, other := told, told
	steers.Server = "web-1\x1b[2J"
	other.Record.Run = "../../etc/passwd"
	seen := fmt.Sprint(now.UnixMilli())
	for _, test := range []struct {
		name  string
		words []string
		found int
	}{
		{"one of a server", []string{told.field(), told.value(), seen}, 1},
		{"a name with an escape sequence", []string{steers.field(), steers.value(), seen}, 0},
		{"a run that is no id", []string{other.field(), other.value(), seen}, 0},
		{"a field of another run", []string{outcome.NewID() + " web-1", told.value(), seen}, 0},
		{"half a value", []string{told.field(), told.value()[:40], seen}, 0},
		{"an endless value", []string{told.field(), told.value() + strings.Repeat(" ", 3*largestDeferred), seen}, 0},
	} {
		d := &Deferred{}
		d.add(test.words)
		found := d.Found()
		if len(found) != test.found || test.found == 1 && (found[0].Record.Run != told.Record.Run || !found[0].Seen.Equal(now)) {
			t.Errorf("%s: %+v", test.name, found)
		}
	}
}
