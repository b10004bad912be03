package process

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Waiting for a command that ignores TERM looked through all processes of the machine at each poll,
// some twenty times in a second. It is to do so when it begins to send a signal, and when what it
// has found is gone or given up: four times in all.
func TestEndingAFamilyLooksThroughAllProcessesFourTimes(t *testing.T) {
	reads := func() (n int) {
		text, err := os.ReadFile("/proc/self/io") // proc(5)
		_, after, _ := strings.Cut(string(text), "syscr: ")
		if _, serr := fmt.Sscan(after, &n); err != nil || serr != nil {
			t.Skip("this kernel does not count reads")
		}
		return n
	}
	c := exec.Command("/bin/sh", "-c", `trap "" TERM; echo ready; while :; do sleep 1; done`)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	out.Read(make([]byte, 6)) // it ignores TERM now
	go c.Wait()
	family := Family{Groups: []int{c.Process.Pid}, Run: "run-1", Attempt: 1}

	scan := func() (n int, found bool) {
		h, before := hunt{family: family}, reads()
		h.find()
		return reads() - before, len(h.found) > 0
	}
	one, found := scan()
	if !found {
		t.Fatal("the command is not found")
	}
	before := reads()
	if left, _ := End(context.Background(), family, time.Second); len(left) > 0 {
		t.Fatalf("%v are left", left)
	}
	all := reads() - before
	later, _ := scan()
	one = max(one, later)                                // other tests start processes meanwhile
	if scans := float64(all) / float64(one); scans > 8 { // the polls of the two processes among them
		t.Errorf("as many reads as in %.1f looks through all processes", scans)
	}
}
