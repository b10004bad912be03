// Package condition asks the condition commands `when` and `skip` of a task, each in a process
// group of its own and with a timeout.
package condition

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/process"
	"sched/schedule/redact"
)

// Timeout is how long a condition command may take to answer. Tests shorten it.
var Timeout = 10 * time.Second

// killAfter is the time from TERM to KILL for a condition command that took longer than Timeout.
const killAfter = 2 * time.Second

// A Verdict is the result of the condition commands of a task for a slot. It is empty if the
// commands allow the slot.
type Verdict struct {
	Skip   string // why the slot does not run
	Broken string // why there is no answer
	Output []byte // of the command that gave no answer
}

// Ask runs the condition commands of a task one after another, until one does not allow the slot or
// gives no answer. The commands have the variables of callerEnv and variables. The verdict is empty
// if ctx was done before.
func Ask(ctx context.Context, task *schedule.Task, callerEnv, variables []string) Verdict {
	for _, command := range task.ConditionCommands {
		spec := process.Spec{
			Task:      task,
			Command:   command.Command,
			Dir:       task.Dir,
			CallerEnv: callerEnv,
			Variables: variables,
		}
		if v := askOne(ctx, command, spec); v.Skip != "" || v.Broken != "" {
			return v
		}
	}
	return Verdict{}
}

// askOne runs one condition command. The verdict is empty if ctx is done.
func askOne(ctx context.Context, command schedule.ConditionCommand, spec process.Spec) Verdict {
	capture, output, err := newCapture()
	if err != nil {
		return Verdict{Broken: fmt.Sprintf("%s cannot be asked: %v", command.Key, err)}
	}
	spec.Output = output
	p, err := spec.Start()
	output.Close()
	if err != nil {
		capture.end()
		return Verdict{Broken: fmt.Sprintf("%s cannot be asked: %v", command.Key, err)}
	}
	_, inTime := p.EndWithin(ctx, Timeout, killAfter)
	printed := redact.Printed(spec, capture.end())
	if ctx.Err() != nil {
		return Verdict{}
	}
	if !inTime {
		reason := fmt.Sprintf("%s gave no answer within %s", command.Key, Timeout)
		return Verdict{Broken: withLastLine(reason, printed, ""), Output: printed}
	}
	return judge(command, p, printed)
}

// judge returns the verdict of a command that has ended by itself.
func judge(command schedule.ConditionCommand, p *process.Process, printed []byte) (v Verdict) {
	code := p.ExitCode()
	allows, answered := command.Allows(code)
	switch {
	case p.Refusal != "":
		v.Broken = command.Key + " cannot be asked: " + p.Refusal
	case !answered:
		v.Broken = withLastLine(command.Key+" gave no answer", printed, process.ExitText(code))
		v.Output = printed
	case !allows && command.Key == "skip":
		v.Skip = withLastLine("skip says yes", printed, "")
	case !allows:
		v.Skip = withLastLine("when says no", printed, process.ExitText(code))
	}
	return v
}

// withLastLine returns a reason with the last line that was printed, and how the command ended;
// both may be empty.
func withLastLine(reason string, printed []byte, ended string) string {
	last := lastLine(printed)
	if last != "" && ended != "" {
		return fmt.Sprintf("%s: %s (%s)", reason, last, ended)
	}
	if last+ended == "" {
		return reason
	}
	return reason + ": " + last + ended
}

// lastLine returns the last line that is not blank, safe to print and at most 200 characters long.
func lastLine(printed []byte) string {
	const maxRunes = 200
	lines := strings.Split(strings.TrimSpace(strings.ToValidUTF8(string(printed), "?")), "\n")
	last := strings.TrimSpace(humanize.Line(humanize.Plain(lines[len(lines)-1])))
	if runes := []rune(last); len(runes) > maxRunes {
		last = string(runes[:maxRunes]) + "…"
	}
	return last
}

// End kills the condition commands of a run whose tick was killed while they ran
// (docs/internals/decisions.md#conditions-of-a-killed-tick-are-ended-by-the-next). The user is the
// one of the task.
func End(run, user string) {
	for _, group := range process.LiveGroups(run, user, 0, 0) {
		syscall.Kill(-group, syscall.SIGKILL)
	}
}

// A capture keeps the last maxCaptured bytes that a condition command prints. It is a pipe: endless
// output fills neither disk nor memory.
type capture struct {
	pipe *os.File
	done chan struct{} // closed when text is complete, or when end stops the capture
	text []byte
}

// maxCaptured is how many bytes a capture keeps.
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

// end returns what was printed. It does not wait for processes that still have the pipe open.
func (c *capture) end() []byte {
	c.pipe.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	<-c.done
	c.pipe.Close()
	return c.text
}
