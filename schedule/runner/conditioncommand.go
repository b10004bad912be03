package runner

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"sched/schedule"
	"sched/schedule/outcome"
	"sched/schedule/process"
	"sched/schedule/run"
	"sched/schedule/text"
)

// ConditionTimeout is how long a condition command may take to answer; tests change it. conditionKillAfter is how long it may
// take to end after that, before it is killed.
var ConditionTimeout = 30 * time.Second

const conditionKillAfter = 2 * time.Second

// A verdict is the result of the condition commands of a task for a slot; empty when they allow it.
type verdict struct {
	skip   string // why it does not run
	broken string // why there is no answer
	output []byte // what the broken one printed
}

// runConditions runs the condition commands of a task one after another, until one does not allow the slot or gives no answer. The
// verdict is empty when ctx was done before.
func (s *starter) runConditions(ctx context.Context, record outcome.Record, task *schedule.Task) verdict {
	s.ledger.AskConditions(record.Task, record.Slot, record.Run) // before they begin: see endConditions
	for _, command := range task.ConditionCommands {
		spec := process.Spec{Task: task, Command: command.Command, Dir: task.Dir, Caller: s.Host.Environ, Variables: run.TaskVariables(record)}
		if v := runCondition(ctx, command, spec); v.skip != "" || v.broken != "" {
			return v
		}
	}
	return verdict{}
}

// runCondition runs one condition command.
func runCondition(ctx context.Context, command schedule.ConditionCommand, spec process.Spec) (v verdict) {
	capture, output, err := newCapture()
	if err != nil {
		v.broken = fmt.Sprintf("%s cannot be asked: %v", command.Key, err)
		return v
	}
	spec.Output = output
	p, err := spec.Start()
	output.Close()
	if err != nil {
		capture.end()
		v.broken = fmt.Sprintf("%s cannot be asked: %v", command.Key, err)
		return v
	}
	ended := p.EndWithin(ctx, ConditionTimeout, conditionKillAfter)
	printed := capture.end()
	switch {
	case ctx.Err() != nil:
		return v
	case !ended:
		v.broken = withLast(fmt.Sprintf("%s gave no answer within %s", command.Key, ConditionTimeout), printed, "")
		v.output = printed
		return v
	}
	return judgeCondition(command, p, printed)
}

// judgeCondition returns the verdict of a command that has ended by itself.
func judgeCondition(command schedule.ConditionCommand, p *process.Process, printed []byte) (v verdict) {
	code := p.ExitCode()
	allows, answered := command.Allows(code)
	switch {
	case p.Refusal != "":
		v.broken = command.Key + " cannot be asked: " + p.Refusal
	case !answered:
		v.broken = withLast(command.Key+" gave no answer", printed, process.ExitText(code))
		v.output = printed
	case !allows && command.Key == "skip":
		v.skip = withLast("skip says yes", printed, "")
	case !allows:
		v.skip = withLast("when says no", printed, process.ExitText(code))
	}
	return v
}

// withLast returns a reason with the last line that was printed, and how the command ended; both may be empty.
func withLast(reason string, printed []byte, ended string) string {
	last := lastLine(printed)
	switch {
	case last == "" && ended == "":
		return reason
	case last == "":
		return reason + ": " + ended
	case ended == "":
		return reason + ": " + last
	}
	return fmt.Sprintf("%s: %s (%s)", reason, last, ended)
}

// lastLine returns the last line that is not blank, safe to print and at most 200 characters long.
func lastLine(printed []byte) string {
	const longest = 200
	lines := strings.Split(strings.TrimSpace(strings.ToValidUTF8(string(printed), "?")), "\n")
	last := strings.TrimSpace(text.Line(lines[len(lines)-1]))
	if runes := []rune(last); len(runes) > longest {
		last = string(runes[:longest]) + "…"
	}
	return last
}

// endConditions kills the condition commands of a run whose tick was killed while they ran
// (docs/decisions.md#conditions-of-a-killed-tick-are-ended-by-the-next).
func endConditions(run string) {
	for _, group := range process.Orphans(run, 0, 0) {
		syscall.Kill(-group, syscall.SIGKILL)
	}
}

// A capture keeps the last maxCaptured bytes that a condition command prints. It is a pipe, so that a command that prints for ever
// fills neither a disk nor the memory. What processes that the command left behind print later is lost.
type capture struct {
	pipe *os.File
	done chan struct{} // closed when text is complete
	text []byte
}

// maxCaptured bounds what is kept, in bytes.
const maxCaptured = 16 << 10

func newCapture() (c *capture, output *os.File, err error) {
	pipe, output, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	c = &capture{pipe: pipe, done: make(chan struct{})}
	go c.read()
	return c, output, nil
}

func (c *capture) read() {
	defer close(c.done)
	chunk := make([]byte, 4096)
	for {
		n, err := c.pipe.Read(chunk)
		c.text = append(c.text, chunk[:n]...)
		if excess := len(c.text) - maxCaptured; excess > 0 {
			c.text = append(c.text[:0], c.text[excess:]...)
		}
		if err != nil {
			return
		}
	}
}

// end returns what was printed. A process that was left behind may still have the pipe open: what is in it is read, but no more
// is waited for.
func (c *capture) end() []byte {
	c.pipe.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	<-c.done
	c.pipe.Close()
	return c.text
}
