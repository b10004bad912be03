package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"sched/cmd/app"
	"sched/schedule/humanize"
)

// A caller calls other commands of sched, each in a process of its own: what goes wrong there ends
// no server, and a command that looks as another user does not change this process.
type caller struct {
	file string // of the schedule, absolute
	now  func() time.Time
}

const (
	maxCall   = 2 * time.Minute // the time of one command
	maxAnswer = 256 << 10       // bytes of JSON
	maxOutput = 64 << 10        // bytes of the output of a run: the last ones
	maxSaid   = 8 << 10         // bytes of messages: the last ones
)

// An answer is what a client gets. The texts in it are data.
type answer struct {
	Schedule string            `json:"schedule"`
	Time     humanize.JSONTime `json:"time"`
	Answer   json.RawMessage   `json:"answer,omitempty"`    // what the command prints with --json
	Output   *string           `json:"output,omitempty"`    // of a run, masked
	Cut      int64             `json:"cut,omitempty"`       // bytes before the output that were left out
	ExitCode int               `json:"exit_code,omitempty"` // of the command
	Says     string            `json:"says,omitempty"`      // what the command says besides
	Error    string            `json:"error,omitempty"`     // why there is no answer
}

// call runs a command with its words, which may be of a stranger: flags have their values behind
// an =, and the operands stand behind --.
func (c caller) call(
	ctx context.Context, stdin []byte, command string, flags []string, operands ...string,
) (out, said *tail, code int, err error) {
	ctx, cancel := context.WithTimeout(ctx, maxCall)
	defer cancel()
	words := append([]string{command, "--config=" + c.file}, flags...)
	if len(operands) > 0 {
		words = append(append(words, "--"), operands...)
	}
	run := exec.CommandContext(ctx, app.Self(), words...)
	run.WaitDelay = time.Second
	out, said = &tail{most: maxAnswer}, &tail{most: maxSaid}
	run.Stdin, run.Stdout, run.Stderr = bytes.NewReader(stdin), out, said
	err = run.Run()
	if ctx.Err() != nil {
		return out, said, 0, fmt.Errorf("sched %s was ended: %w", command, context.Cause(ctx))
	}
	if _, ok := errors.AsType[*exec.ExitError](err); ok {
		err = nil
	}
	if run.ProcessState != nil {
		code = run.ProcessState.ExitCode()
	}
	return out, said, code, err
}

// json answers with what a command prints as JSON, changed by edit if that is not nil.
func (c caller) json(
	ctx context.Context, stdin []byte, edit func([]byte) ([]byte, error), command string, flags []string,
	operands ...string,
) (string, error) {
	now := c.now()
	out, said, code, err := c.call(ctx, stdin, command, append(flags, "--json"), operands...)
	text := bytes.TrimSpace(out.text)
	switch {
	case err != nil:
		return "", c.failed(now, err.Error())
	case out.cut > 0:
		return "", c.failed(now, fmt.Sprintf("the answer has more than %d KiB: ask for less", maxAnswer>>10))
	case !json.Valid(text):
		return "", c.failed(now, said.plain())
	}
	if edit != nil {
		if text, err = edit(text); err != nil {
			return "", err
		}
	}
	var short bytes.Buffer
	if err := json.Compact(&short, text); err != nil {
		return "", err
	}
	return c.shown(answer{Answer: short.Bytes(), ExitCode: code, Says: said.plain()}, now)
}

// output answers with the end of what a run printed.
func (c caller) output(ctx context.Context, flags []string, operand string) (string, error) {
	now := c.now()
	out, said, code, err := c.call(ctx, nil, "logs", flags, operand)
	if err == nil && code != 0 && len(out.text) == 0 {
		err = errors.New(said.plain())
	}
	if err != nil {
		return "", c.failed(now, err.Error())
	}
	if extra := len(out.text) - maxOutput; extra > 0 {
		out.text, out.cut = out.text[extra:], out.cut+int64(extra)
	}
	text := humanize.Plain(strings.ToValidUTF8(string(out.text), "\uFFFD"))
	return c.shown(answer{Output: &text, Cut: out.cut, ExitCode: code, Says: said.plain()}, now)
}

// failed returns an error whose text says why there is no answer, as an answer.
func (c caller) failed(now time.Time, why string) error {
	text, err := c.shown(answer{Error: why}, now)
	return cmp.Or(err, errors.New(text))
}

// shown writes an answer in at most maxAnswer bytes.
func (c caller) shown(a answer, now time.Time) (string, error) {
	a.Schedule, a.Time = c.file, humanize.UTC(now)
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false) // it would make six bytes of each <
	if err := encoder.Encode(a); err != nil {
		return "", err
	}
	if text.Len() > maxAnswer {
		return "", c.failed(now, fmt.Sprintf("the answer has more than %d KiB: ask for less", maxAnswer>>10))
	}
	return strings.TrimSuffix(text.String(), "\n"), nil
}

// A tail keeps the last bytes that are written to it.
type tail struct {
	most int
	text []byte
	cut  int64 // bytes that it has not kept
}

func (t *tail) Write(part []byte) (int, error) {
	t.text = append(t.text, part...)
	if extra := len(t.text) - t.most; extra > 0 {
		t.text, t.cut = append(t.text[:0], t.text[extra:]...), t.cut+int64(extra)
	}
	return len(part), nil
}

// plain returns the text without control sequences.
func (t *tail) plain() string {
	return humanize.Plain(strings.ToValidUTF8(strings.TrimSpace(string(t.text)), "\uFFFD"))
}
