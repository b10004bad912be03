//go:build linux

package cmd_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

// A glass is a terminal that sched runs on: a real one for the program, and for the test what a person would
// see. It understands no more than sched uses, so anything else is seen as it is.
type glass struct {
	ctrl *os.File

	mu    sync.Mutex
	raw   string // all that came
	rest  string // of raw, not drawn yet
	width int
	rows  [][]spot
	row   int
	col   int
	look  string // the colours now
	ended chan struct{}
}

// A spot is one column of a row.
type spot struct{ text, look string }

// newGlass opens a terminal (pty(7)) and returns its other side.
func newGlass(width int) (g *glass, tty *os.File, err error) {
	ctrl, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	g = &glass{ctrl: ctrl, width: width, rows: [][]spot{nil}, ended: make(chan struct{})}
	n, err := unix.IoctlGetInt(int(ctrl.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(ctrl.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err == nil {
		err = g.resize(width)
	}
	return g, tty, err
}

// resize changes the width; what is there already stays as it is.
func (g *glass) resize(width int) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.width = width
	return unix.IoctlSetWinsize(int(g.ctrl.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: uint16(width)})
}

// start starts the program on the terminal, in a session of its own.
func (g *glass) start(c *exec.Cmd, tty *os.File) error {
	c.Stdin, c.Stdout, c.Stderr = tty, tty, tty
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err := c.Start()
	tty.Close()
	go func() {
		defer close(g.ended)
		buffer := make([]byte, 4096)
		for {
			n, err := g.ctrl.Read(buffer)
			g.draw(string(buffer[:n]))
			if err != nil { // EIO: the last process has closed its side
				return
			}
		}
	}()
	return err
}

// draw shows text.
func (g *glass) draw(text string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.raw += text
	g.rest += text
	for g.rest != "" {
		n := g.next()
		if n == 0 {
			return // half a character, or half a sequence
		}
		g.rest = g.rest[n:]
	}
}

// next draws what is first in rest, and returns how long that is.
func (g *glass) next() int {
	switch {
	case g.rest[0] == '\r':
		g.col = 0
		return 1
	case g.rest[0] == '\n':
		g.rows, g.row = append(g.rows, nil), g.row+1
		return 1
	case g.rest[0] == '\x1b':
		return g.escape()
	case !utf8.FullRuneInString(g.rest):
		return 0
	}
	r, n := utf8.DecodeRuneInString(g.rest)
	g.put(string(r), displaywidth.Rune(r))
	return n
}

// escape obeys SGR and EL (ECMA-48).
func (g *glass) escape() int {
	end := strings.IndexAny(g.rest, "mK")
	if end < 0 {
		return 0
	}
	switch sequence := g.rest[:end+1]; {
	case sequence == "\x1b[K":
		g.rows[g.row] = g.rows[g.row][:min(g.col, len(g.rows[g.row]))]
	case sequence == "\x1b[0m":
		g.look = ""
	default:
		g.look = `\e` + sequence[1:]
	}
	return end + 1
}

func (g *glass) put(text string, width int) {
	if width == 0 && g.col > 0 { // it belongs to what is before it
		before := g.rows[g.row][:g.col]
		for len(before) > 1 && before[len(before)-1].text == "" {
			before = before[:len(before)-1] // the other half of a wide one
		}
		before[len(before)-1].text += text
		return
	}
	width = max(width, 1)
	if g.col+width > g.width {
		g.rows, g.row, g.col = append(g.rows, nil), g.row+1, 0
	}
	for len(g.rows[g.row]) < g.col+width {
		g.rows[g.row] = append(g.rows[g.row], spot{" ", ""})
	}
	g.rows[g.row][g.col] = spot{text, g.look}
	for i := 1; i < width; i++ {
		g.rows[g.row][g.col+i] = spot{}
	}
	g.col += width
}

// screen is what there is to see, with the colours as \e[32m.
func (g *glass) screen() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	var lines []string
	for _, row := range g.rows {
		line, look := "", ""
		for _, spot := range row {
			if spot.text != "" && spot.look != look {
				if look != "" {
					line += `\e[0m`
				}
				line, look = line+spot.look, spot.look
			}
			line += spot.text
		}
		if look != "" {
			line += `\e[0m`
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// seen is all that ever came.
func (g *glass) seen() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.raw
}

// press types on the keyboard.
func (g *glass) press(keys string) { io.WriteString(g.ctrl, keys) }

// watch runs sched in the box on a terminal.
func (b *box) watch(width int, env []string, args ...string) (*glass, *exec.Cmd) {
	b.Helper()
	g, tty, err := newGlass(width)
	if err != nil {
		b.Fatal(err)
	}
	c := b.command(args...)
	c.Env = append(append(c.Env, "NO_COLOR=", "TERM=xterm", "LC_ALL=C.UTF-8"), env...)
	if err := g.start(c, tty); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		c.Process.Kill()
		c.Wait()
		g.ctrl.Close()
	})
	return g, c
}

// onTerminal WIDTH CODE PROGRAM ARG... runs a program on a terminal and checks its exit code. What is seen then is
// in the file "screen", with the colours as \e[32m.
func onTerminal(ts *testscript.TestScript, neg bool, args []string) {
	var width int
	if neg || len(args) < 3 {
		ts.Fatalf("usage: terminal WIDTH CODE PROGRAM ARG...")
	} else if _, err := fmt.Sscan(args[0], &width); err != nil {
		ts.Fatalf("width %s: %v", args[0], err)
	}
	path, err := exec.LookPath(args[2])
	if args[2] == "sched" {
		path, err = binary, nil
	}
	ts.Check(err)
	c := exec.Command(path, args[3:]...)
	c.Dir, c.Env = ts.MkAbs("."), nil
	for _, name := range []string{"PATH", "HOME", "TZ", "TERM", "NO_COLOR", "LC_ALL", "LC_CTYPE", "LANG", "GORACE", "SCHED_TEST_CLOCK"} {
		if value := ts.Getenv(name); value != "" {
			c.Env = append(c.Env, name+"="+value)
		}
	}
	screen := screenOf(ts, c, width)
	ts.Check(os.WriteFile(ts.MkAbs("screen"), []byte(screen), 0o644))
	if code := fmt.Sprint(c.ProcessState.ExitCode()); code != args[1] {
		ts.Fatalf("exit code %s, not %s:\n%s", code, args[1], screen)
	}
}

// screenOf runs a program on a terminal and returns what is seen when it has ended.
func screenOf(ts *testscript.TestScript, c *exec.Cmd, width int) string {
	g, tty, err := newGlass(width)
	ts.Check(err)
	defer g.ctrl.Close()
	ts.Check(g.start(c, tty))
	c.Wait()
	<-g.ended
	return g.screen()
}

// The glass itself shows what a terminal would.
func TestGlass(t *testing.T) {
	for _, row := range []struct{ text, screen string }{
		// lines
		{"a\r\nb\r\n", "a\nb\n"},
		// over what is there, and without what is left of it
		{"abc\rx", "xbc"},
		{"abc\rx\x1b[K", "x"},
		// colours
		{"\x1b[32mgood\x1b[0m.", `\e[32mgood\e[0m.`},
		{"\x1b[32mgood\x1b[31mbad\x1b[0m", `\e[32mgood\e[0m\e[31mbad\e[0m`},
		// it is ten columns wide
		{"1234567890x", "1234567890\nx"},
		{"123456789日", "123456789\n日"},
		{"e\u0301\rx", "x"},
	} {
		g := &glass{width: 10, rows: [][]spot{nil}}
		for _, b := range []byte(row.text) {
			g.draw(string([]byte{b}))
		}
		if got := g.screen(); got != row.screen {
			t.Errorf("%q shows %q, not %q", row.text, got, row.screen)
		}
	}
}
