//go:build linux

package schedtest

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

// A Terminal is a terminal that sched runs on. For the program it is a real one, and for the
// test it is what a person would see. It understands no more than sched uses, so anything else is
// seen as it is.
type Terminal struct {
	Ctrl *os.File

	Mu    sync.Mutex
	Raw   string // all that came
	rest  string // of raw, not drawn yet
	width int
	rows  [][]cell
	row   int
	col   int
	look  string // the colours now
	Ended chan struct{}
}

// A cell is the text in one column of a row.
type cell struct{ text, look string }

// NewTerminal opens a terminal (pty(7)) and returns its other side.
func NewTerminal(width int) (term *Terminal, tty *os.File, err error) {
	ctrl, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	term = &Terminal{Ctrl: ctrl, width: width, rows: [][]cell{nil}, Ended: make(chan struct{})}
	n, err := unix.IoctlGetInt(int(ctrl.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(ctrl.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err == nil {
		err = term.Resize(width)
	}
	return term, tty, err
}

// Resize changes the width; what is there already stays as it is.
func (term *Terminal) Resize(width int) error {
	term.Mu.Lock()
	defer term.Mu.Unlock()
	term.width = width
	return unix.IoctlSetWinsize(int(term.Ctrl.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: uint16(width)})
}

// Start starts the program on the terminal, in a session of its own.
func (term *Terminal) Start(c *exec.Cmd, tty *os.File) error {
	c.Stdin, c.Stdout, c.Stderr = tty, tty, tty
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err := c.Start()
	tty.Close()
	go func() {
		defer close(term.Ended)
		buffer := make([]byte, 4096)
		for {
			n, err := term.Ctrl.Read(buffer)
			term.draw(string(buffer[:n]))
			if err != nil { // EIO: the last process has closed its side
				return
			}
		}
	}()
	return err
}

// draw shows text.
func (term *Terminal) draw(text string) {
	term.Mu.Lock()
	defer term.Mu.Unlock()
	term.Raw += text
	term.rest += text
	for term.rest != "" {
		n := term.next()
		if n == 0 {
			return // half a character, or half a sequence
		}
		term.rest = term.rest[n:]
	}
}

// next draws what is first in rest, and returns how long that is.
func (term *Terminal) next() int {
	switch {
	case term.rest[0] == '\r':
		term.col = 0
		return 1
	case term.rest[0] == '\n':
		term.rows, term.row = append(term.rows, nil), term.row+1
		return 1
	case term.rest[0] == '\x1b':
		return term.escape()
	case !utf8.FullRuneInString(term.rest):
		return 0
	}
	r, n := utf8.DecodeRuneInString(term.rest)
	term.put(string(r), displaywidth.Rune(r))
	return n
}

// escape obeys SGR and EL (ECMA-48).
func (term *Terminal) escape() int {
	end := strings.IndexAny(term.rest, "mK")
	if end < 0 {
		return 0
	}
	switch sequence := term.rest[:end+1]; {
	case sequence == "\x1b[K":
		term.rows[term.row] = term.rows[term.row][:min(term.col, len(term.rows[term.row]))]
	case sequence == "\x1b[0m":
		term.look = ""
	default:
		term.look = `\e` + sequence[1:]
	}
	return end + 1
}

func (term *Terminal) put(text string, width int) {
	if width == 0 && term.col > 0 { // it belongs to what is before it
		before := term.rows[term.row][:term.col]
		for len(before) > 1 && before[len(before)-1].text == "" {
			before = before[:len(before)-1] // the other half of a wide one
		}
		before[len(before)-1].text += text
		return
	}
	width = max(width, 1)
	if term.col+width > term.width {
		term.rows, term.row, term.col = append(term.rows, nil), term.row+1, 0
	}
	for len(term.rows[term.row]) < term.col+width {
		term.rows[term.row] = append(term.rows[term.row], cell{" ", ""})
	}
	term.rows[term.row][term.col] = cell{text, term.look}
	for i := 1; i < width; i++ {
		term.rows[term.row][term.col+i] = cell{}
	}
	term.col += width
}

// Screen is what there is to see, with the colours as \e[32m.
func (term *Terminal) Screen() string {
	term.Mu.Lock()
	defer term.Mu.Unlock()
	var lines []string
	for _, row := range term.rows {
		line, look := "", ""
		for _, cell := range row {
			if cell.text != "" && cell.look != look {
				if look != "" {
					line += `\e[0m`
				}
				line, look = line+cell.look, cell.look
			}
			line += cell.text
		}
		if look != "" {
			line += `\e[0m`
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// Seen is all that ever came.
func (term *Terminal) Seen() string {
	term.Mu.Lock()
	defer term.Mu.Unlock()
	return term.Raw
}

// Press types on the keyboard.
func (term *Terminal) Press(keys string) { io.WriteString(term.Ctrl, keys) }

// Watch runs sched in the box on a terminal.
func (b *Box) Watch(width int, env []string, args ...string) (*Terminal, *exec.Cmd) {
	b.Helper()
	term, tty, err := NewTerminal(width)
	if err != nil {
		b.Fatal(err)
	}
	c := b.Command(args...)
	c.Env = append(append(c.Env, "NO_COLOR=", "TERM=xterm", "LC_ALL=C.UTF-8"), env...)
	if err := term.Start(c, tty); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		c.Process.Kill()
		c.Wait()
		term.Ctrl.Close()
	})
	return term, c
}

// onTerminal WIDTH CODE PROGRAM ARG... runs a program on a terminal and checks its exit code. The
// file "screen" then has what a person would see, with the colours as \e[32m.
func onTerminal(ts *testscript.TestScript, neg bool, args []string) {
	var width int
	if neg || len(args) < 3 {
		ts.Fatalf("usage: terminal WIDTH CODE PROGRAM ARG...")
	} else if _, err := fmt.Sscan(args[0], &width); err != nil {
		ts.Fatalf("width %s: %v", args[0], err)
	}
	path, err := exec.LookPath(args[2])
	if args[2] == "sched" {
		path, err = Binary, nil
	}
	ts.Check(err)
	c := exec.Command(path, args[3:]...)
	c.Dir, c.Env = ts.MkAbs("."), nil
	for _, name := range []string{"PATH", "HOME", "TZ", "TERM", "NO_COLOR", "LC_ALL", "LC_CTYPE", "LANG", "GORACE",
		"SCHED_TEST_CLOCK"} {
		if value := ts.Getenv(name); value != "" {
			c.Env = append(c.Env, name+"="+value)
		}
	}
	screen := ScreenOf(ts, c, width)
	ts.Check(os.WriteFile(ts.MkAbs("screen"), []byte(screen), 0o644))
	if code := fmt.Sprint(c.ProcessState.ExitCode()); code != args[1] {
		ts.Fatalf("exit code %s, not %s:\n%s", code, args[1], screen)
	}
}

// ScreenOf runs a program on a terminal and returns what is seen when it has ended.
func ScreenOf(ts *testscript.TestScript, c *exec.Cmd, width int) string {
	term, tty, err := NewTerminal(width)
	ts.Check(err)
	defer term.Ctrl.Close()
	ts.Check(term.Start(c, tty))
	c.Wait()
	<-term.Ended
	return term.Screen()
}
