package web

import (
	"os"
	"testing"
	"time"

	"sched/schedule/machine"
	"sched/schedule/serve"
)

func init() {
	hostOf = func(now time.Time, _ *time.Location) machine.Host {
		return machine.Host{Root: "testdata/machine", Root0: os.Getuid(), UID: os.Getuid(), Zone: time.UTC, Now: now}
	}
}

// The page has what something else than sched starts. A command may hold a secret, so only somebody
// who operates sees more of it than its program.
func TestThePageOfTheMachine(t *testing.T) {
	t.Parallel()
	b := newBox(t, shop, serve.ScopeOperate)
	b.has("/machine", b.get("/machine", 200), "/etc/crontab:2", "12:10 UTC", "in 10 m 0 s", "/etc/cron.daily/logs",
		"--password=s3cret &#34;&lt;script&gt;", "1 job more: sched itself", "not sched run -q", "not <script>alert", "not old.<b>",
		"cron ignores this file", "off: cron ignores the file", "not Left out")
	reader := newBox(t, shop, serve.ScopeRead)
	reader.has("/machine", reader.get("/machine", 200), "<code>/usr/sbin/cron …</code>", "not s3cret")
}
