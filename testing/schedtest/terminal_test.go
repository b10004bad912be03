//go:build linux

package schedtest

import "testing"

// The testTerminal itself shows what a terminal would.
func TestTerminalOfTests(t *testing.T) {
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
		term := &Terminal{width: 10, rows: [][]cell{nil}}
		for _, b := range []byte(row.text) {
			term.draw(string([]byte{b}))
		}
		if got := term.Screen(); got != row.screen {
			t.Errorf("%q shows %q, not %q", row.text, got, row.screen)
		}
	}
}
