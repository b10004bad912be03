package plan

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"sched/schedule"
	"sched/schedule/output"
	"sched/schedule/state"
)

// A run with condition commands began on a full disk, and its tick was killed. The next tick ends
// what a killed tick has left of the conditions. It once sent KILL to the command of the run, too.
func TestTheNextTickDoesNotKillTheCommandOfAnUnrecordedRun(t *testing.T) {
	s := newStory(t)
	s.schedule.Tasks[0].ConditionCommands = make([]schedule.ConditionCommand, 1)
	minute := time.Now().UTC().Truncate(time.Minute)
	for _, began := range []bool{true, false} {
		minute = minute.Add(time.Minute)
		first, starts := s.tick(minute)
		id, _ := first.RunOf(starts[0])
		if began {
			file, err := output.Open(output.Path(s.dir, state.Row{Task: "each", ID: id}))
			if err != nil {
				t.Fatal(err)
			}
			output.MarkUnwritten(file, 1)
			file.Close()
		}
		child := exec.Command("sleep", "60")
		child.Env = append(os.Environ(), "SCHED_RUN="+id)
		child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		first.kill()
		minute = minute.Add(time.Minute)
		next, _ := s.tick(minute)
		next.kill()
		child.Process.Signal(syscall.SIGTERM) // it comes after the KILL, if there was one
		child.Wait()
		killed := child.ProcessState.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
		if began && killed {
			t.Error("the command was killed")
		} else if !began && !killed {
			t.Error("the condition command was not ended")
		}
	}
}
