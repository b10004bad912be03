//go:build linux

package kills_test

import (
	"errors"
	"os"
	"testing"
	"time"

	"sched/testing/redistest"
)

// The claim of a slot is in the store, and on this machine for runs that go on without the store.
// If it cannot be written here, as on a full disk, the slot is still this server's: no other server
// runs it.
func TestAClaimedSlotRunsThoughTheClaimCannotBeWrittenHere(t *testing.T) {
	t.Parallel()
	b := newBox(t, "name: shop\nstore: "+redistest.Start(t).URL+`
defaults: {one_server: true}
tasks:
  - {name: front, cron: "* * * * *", command: echo front >> ran.txt}
  - {name: back, cron: "* * * * *", background: true, command: echo back >> ran.txt}
`)
	b.Tick(-time.Minute)
	b.Until("both have run", func() bool { return b.Count("ran.txt") == 2 })
	claims := b.Path(".sched/locks/claims")
	if err := errors.Join(os.RemoveAll(claims), os.WriteFile(claims, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	b.Tick(0)
	b.Until("both have run again", func() bool { return b.Count("ran.txt") == 4 })
}
