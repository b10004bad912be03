package cmd_test

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestALargeScheduleIsReadIntoHugePages counts the page faults of a tick of 10,000 tasks: 2,000 of 10,000 are left.
func TestALargeScheduleIsReadIntoHugePages(t *testing.T) {
	enabled, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled")
	if err != nil || !strings.Contains(string(enabled), "[madvise]") {
		t.Skip("this kernel gives no huge pages to who asks for them")
	}
	var text strings.Builder
	text.WriteString("timezone: UTC\ntasks:\n")
	for i := range 10_000 {
		fmt.Fprintf(&text, "  - {name: task-%d, cron: \"%d 3 * * *\", command: \"true\", background: true}\n", i, i%60)
	}
	c := newBox(t, text.String()).command("run", "--dry-run", "--at", "2026-01-01 12:00")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if faults := c.ProcessState.SysUsage().(*syscall.Rusage).Minflt; faults > 6000 && len(raceFlags) == 0 {
		t.Errorf("the tick took %d page faults", faults)
	}
}

// TestASmallScheduleIsReadIntoMemoryThatIsThere counts the page faults of an idle tick of 100 tasks. The memory that it asks for does not
// count as such here, which it does in getrusage(2).
func TestASmallScheduleIsReadIntoMemoryThatIsThere(t *testing.T) {
	var text strings.Builder
	text.WriteString("timezone: UTC\ntasks:\n")
	for i := range 100 {
		fmt.Fprintf(&text, "  - {name: task-%d, cron: \"%d 3 * * *\", command: \"true\", background: true}\n", i, i%60)
	}
	b := newBox(t, text.String())
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	of := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_PAGE_FAULTS,
		Bits: unix.PerfBitDisabled | unix.PerfBitInherit | unix.PerfBitEnableOnExec}
	of.Size = uint32(unsafe.Sizeof(of))
	counter, err := unix.PerfEventOpen(&of, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC) // of what this thread starts
	if err != nil {
		t.Skipf("this system counts no page faults for us: %v", err)
	}
	defer unix.Close(counter)
	if out, code := b.sched("run", "--dry-run", "--at", "2026-01-01 12:00"); code != 0 {
		t.Fatal(out)
	}
	var faults uint64
	if _, err := unix.Read(counter, (*[8]byte)(unsafe.Pointer(&faults))[:]); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d page faults", faults)
	if faults > 710 && len(raceFlags) == 0 {
		t.Errorf("the tick took %d page faults", faults)
	}
}
