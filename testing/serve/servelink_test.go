//go:build linux

package serve_test

import (
	"bufio"
	"strings"
	"testing"

	"sched/testing/schedtest"
)

// The login link is printed on a terminal, and not into a log, unless somebody asks for it there.
func TestTheLoginLinkIsForATerminal(t *testing.T) {
	t.Parallel()
	b := newBox(t, served)
	term, tty, err := schedtest.NewTerminal(200)
	if err != nil {
		t.Skip(err)
	}
	c := b.Command("serve", "--listen", "127.0.0.1:0", "--read-only")
	if err := term.Start(c, tty); err != nil {
		t.Fatal(err)
	}
	defer c.Wait()
	defer c.Process.Kill()
	b.Until("there is a link", func() bool {
		term.Mu.Lock()
		defer term.Mu.Unlock()
		return strings.Contains(term.Raw, "sign in to read, once and within 10 minutes: http://127.0.0.1:") &&
			strings.Contains(term.Raw, "/login/")
	})
	for flag, want := range map[string]string{"": "sign in with a token of `sched serve token --scope read`\n",
		"--link=operate": "sign in to operate, once and within 10 minutes: http://"} {
		log := b.greeting(flag)
		if !strings.Contains(log, want) || strings.Contains(log, "/login/") != (flag != "") {
			t.Errorf("%q: %s", flag, log)
		}
	}
}

// greeting is the two lines that a server prints into a log.
func (b *box) greeting(flag string) string {
	b.Helper()
	args := []string{"serve", "--listen", "127.0.0.1:0"}
	if flag != "" {
		args = append(args, flag)
	}
	c := b.Command(args...)
	pipe, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		b.Fatal(err)
	}
	defer c.Wait()
	defer c.Process.Kill()
	lines := bufio.NewReader(pipe)
	first, _ := lines.ReadString('\n')
	second, err := lines.ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return first + second
}
