package runner

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"sched/schedule"
	"sched/schedule/ledger"
	"sched/schedule/outcome"
	"sched/schedule/text"

	"sched/schedule/process"
)

// GuardTimeout is how long a condition may take to answer; tests change it. guardKillAfter is how long it may then
// take to end.
var GuardTimeout = 30 * time.Second

const guardKillAfter = 2 * time.Second

// A finding is what the guards of a task have to say of a slot; empty when they allow it.
type finding struct {
	skip   string // why it does not run
	broken string // why nobody knows whether it may
	output []byte // what the broken one printed
}

// ask asks the guards of a task one after another, until one is against or gives no answer. What ctx
// interrupts has said nothing.
func (t *Tick) ask(ctx context.Context, record outcome.Record, task *schedule.Task) finding {
	t.journal.Condition(record.Task, record.Slot, record.Run) // before they begin: see endGuards
	for _, guard := range task.ConditionCommands {
		l := process.Spec{Task: task, Command: guard.Command, Dir: task.Dir, Caller: t.Environ, Variables: taskVariables(record)}
		if f := askGuard(ctx, guard, l); f.skip != "" || f.broken != "" {
			return f
		}
	}
	return finding{}
}

func askGuard(ctx context.Context, guard schedule.ConditionCommand, l process.Spec) (f finding) {
	capture, output, err := newCapture()
	if err != nil {
		f.broken = fmt.Sprintf("%s cannot be asked: %v", guard.Key, err)
		return f
	}
	l.Output = output
	p, err := l.Start()
	output.Close()
	if err != nil {
		capture.end()
		f.broken = fmt.Sprintf("%s cannot be asked: %v", guard.Key, err)
		return f
	}
	ended := p.EndWithin(ctx, GuardTimeout, guardKillAfter)
	printed := capture.end()
	switch {
	case ctx.Err() != nil:
		return f
	case !ended:
		f.broken = withLast(fmt.Sprintf("%s gave no answer within %s", guard.Key, GuardTimeout), printed, "")
		f.output = printed
		return f
	}
	return judgeGuard(guard, p, printed)
}

func judgeGuard(guard schedule.ConditionCommand, p *process.Process, printed []byte) (f finding) {
	code := p.ExitCode()
	allows, answered := guard.Allows(code)
	switch {
	case p.Refusal != "":
		f.broken = guard.Key + " cannot be asked: " + p.Refusal
	case !answered:
		f.broken = withLast(guard.Key+" gave no answer", printed, process.ExitText(code))
		f.output = printed
	case !allows && guard.Key == "skip":
		f.skip = withLast("skip says yes", printed, "")
	case !allows:
		f.skip = withLast("when says no", printed, process.ExitText(code))
	}
	return f
}

// withLast adds the last line of what was printed to what there is to say, and how the command ended.
func withLast(says string, printed []byte, ended string) string {
	last := lastLine(printed)
	switch {
	case last == "" && ended == "":
		return says
	case last == "":
		return says + ": " + ended
	case ended == "":
		return says + ": " + last
	}
	return fmt.Sprintf("%s: %s (%s)", says, last, ended)
}

// lastLine returns the last line that is not blank, as one can print it.
func lastLine(printed []byte) string {
	const longest = 200
	lines := strings.Split(strings.TrimSpace(strings.ToValidUTF8(string(printed), "?")), "\n")
	last := strings.TrimSpace(text.Line(lines[len(lines)-1]))
	if runes := []rune(last); len(runes) > longest {
		last = string(runes[:longest]) + "…"
	}
	return last
}

// A capture keeps the end of what a condition prints. It is a pipe, so that one that prints for ever
// fills neither a disk nor the memory. What the condition leaves behind and prints later is lost.
type capture struct {
	pipe *os.File
	done chan struct{} // closed when text is complete
	text []byte
}

const mostCaptured = 16 << 10

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
		if excess := len(c.text) - mostCaptured; excess > 0 {
			c.text = append(c.text[:0], c.text[excess:]...)
		}
		if err != nil {
			return
		}
	}
}

// end returns what was printed. A process that was left behind may have the pipe open still: what is
// in it is read, but nobody waits for more.
func (c *capture) end() []byte {
	c.pipe.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	<-c.done
	c.pipe.Close()
	return c.text
}

// endGuards kills the conditions that ticks were asking which are no more: nobody hears their answer.
func endGuards(dead []*ledger.Journal) {
	for _, journal := range dead {
		for due, run := range journal.Conditions {
			if _, settled := journal.Outcomes[due]; settled || journal.Started[due] {
				continue
			}
			for _, group := range process.Orphans(run, 0, 0) {
				syscall.Kill(-group, syscall.SIGKILL)
			}
		}
	}
}
