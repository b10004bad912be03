package servers

import (
	"testing"
	"time"

	"sched/mutex"
	"sched/mutex/redistest"
)

// A tick that lasts announces its machine again and again. Then that finds itself under its name, which is no proof against the other
// machine that it has found.
func TestASharedNameIsFoundForAWholeTick(t *testing.T) {
	redistest.OnEachStore(t, func(t *testing.T, r *mutex.Redis) {
		ours, theirs := t.TempDir(), t.TempDir()
		self := Server{Name: "web-1", Minute: noon}
		begin := func(dir string) *Neighbours {
			n := NewNeighbours(r, dir, self.Name, "production")
			if _, err := Announce(ctx, r, time.Now, self, n.Also); err != nil {
				t.Fatal(err)
			}
			n.Note()
			return n
		}
		if begin(ours); begin(ours).Found().SharedName {
			t.Fatal("there is no other machine")
		}
		begin(theirs)
		n := begin(ours)
		for range 3 {
			if !n.Found().SharedName || !MixtureIn(ours).SharedName {
				t.Fatal("the other machine is not found")
			}
			if _, err := Refresh(ctx, r, time.Now, self, n.Also); err != nil {
				t.Fatal(err)
			}
			n.Note()
		}
	})
}
