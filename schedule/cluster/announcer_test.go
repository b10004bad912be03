package cluster

import (
	"fmt"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"

	"sched/testing/redistest"
)

// The detail once read "this server is not server".
func TestATickSaysThatItsServerIsNotAnnounced(t *testing.T) {
	redis := miniredis.RunT(t)
	store := redistest.Dial(t, "redis://"+redis.Addr())
	redis.Close()
	var detail string
	a := &Announcer{Store: store, Detail: func(format string, args ...any) { detail = fmt.Sprintf(format, args...) }}
	a.tell(Server{Name: "web-1"})
	if !strings.HasPrefix(detail, "this server is not announced: ") {
		t.Errorf("the detail is %q", detail)
	}
}
