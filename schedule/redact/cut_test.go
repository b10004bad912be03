package redact

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"sched/schedule/output"
	"sched/schedule/statedir"
)

func TestACutLeavesWholeCharactersAndStartsALineOfItsOwn(t *testing.T) {
	for _, lead := range []string{"", "a", "ab", "abc"} { // so that the cuts fall everywhere in a character
		for _, character := range []string{"é", "€", "𝄞"} {
			path, captured, _ := printing(t)
			captured.WriteString(lead + strings.Repeat(character, 50_000))
			if _, err := Cut(path, testLimit, nil); err != nil {
				t.Fatal(err)
			}
			text, _ := os.ReadFile(path)
			if !utf8.Valid(text) || len(text) > testLimit {
				t.Errorf("%q and %s: %d bytes, valid %v", lead, character, len(text), utf8.Valid(text))
			}
			lines := strings.Split(string(text), "\n")
			if len(lines) != 3 || !strings.HasPrefix(lines[1], "sched: ") || strings.Trim(lines[2], character) != "" {
				t.Errorf("%q and %s: %d lines, the second is %.40q", lead, character, len(lines), lines[1])
			}
		}
	}
}

// printing makes an output of numbered lines that are appended, as a command does.
func printing(t *testing.T) (path string, captured *os.File, print func(from, to int)) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "run.log")
	captured, err := output.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { captured.Close() })
	return path, captured, func(from, to int) {
		var text bytes.Buffer
		for i := from; i < to; i++ {
			fmt.Fprintf(&text, "line %d!\n", i) // so long that both cuts are within a line
		}
		captured.Write(text.Bytes())
	}
}

const testLimit = 64 << 10

func TestAnOutputIsCutToItsFirstAndItsLastPart(t *testing.T) {
	path, captured, print := printing(t)
	look := output.Trimmer{Output: captured, Limit: testLimit}
	for i := range 20 {
		print(i*10_000, (i+1)*10_000)
		if again := look.Trim(); again != time.Second {
			t.Errorf("it grows, and is looked at in %s", again)
		}
	}
	if again := look.Trim(); again != 5*time.Second {
		t.Errorf("it does not grow, and is looked at in %s", again)
	}
	var stat syscall.Stat_t
	if err := syscall.Stat(path, &stat); err != nil {
		t.Fatal(err)
	}
	if holes(t) && stat.Blocks*512 > 2*testLimit {
		t.Errorf("%d bytes take %d on the disk while the command runs", stat.Size, stat.Blocks*512)
	}
	note, err := Cut(path, testLimit, nil)
	if err != nil || !strings.HasSuffix(note, "MiB of the output were cut (output.limit: 64 KiB)") {
		t.Errorf("the note is %q, %v", note, err)
	}
	text, _ := os.ReadFile(path)
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if len(text) > testLimit || len(text) < testLimit/2 || bytes.IndexByte(text, 0) >= 0 || lines[0] != "line 0!" ||
		lines[len(lines)-1] != "line 199999!" {
		t.Errorf("%d bytes from %q to %q are left", len(text), lines[0], lines[len(lines)-1])
	}
	whole := 0
	for _, line := range lines {
		if strings.HasPrefix(line, "sched: ") {
			whole++
		} else if !strings.HasPrefix(line, "line ") || !strings.HasSuffix(line, "!") {
			t.Errorf("a line is torn: %q", line)
		}
	}
	if whole != 1 {
		t.Errorf("the cut is said %d times", whole)
	}
	// Another process that finishes the run after a kill does not cut again.
	if note, err := Cut(path, testLimit, nil); note != "" || err != nil {
		t.Errorf("it was cut twice: %q, %v", note, err)
	}
}

// A process that is killed while it cuts leaves the draft; the next one makes it anew.
func TestACutIsMadeAfterAKill(t *testing.T) {
	path, _, print := printing(t)
	print(0, 20_000)
	if err := os.WriteFile(path+".cut", bytes.Repeat([]byte("torn"), 100_000), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Cut(path, testLimit, nil); err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(path); bytes.Contains(text, []byte("torn")) || len(text) > testLimit {
		t.Errorf("%d bytes are left", len(text))
	}
	if _, err := os.Stat(path + ".cut"); err == nil {
		t.Error("the draft is still there")
	}
}

func TestAnOutputWithinItsLimitStaysAsItIs(t *testing.T) {
	path, _, print := printing(t)
	print(0, 100)
	before, _ := os.Stat(path)
	note, err := Cut(path, testLimit, nil)
	if after, _ := os.Stat(path); note != "" || err != nil || !os.SameFile(before, after) {
		t.Errorf("it was changed: %q, %v", note, err)
	}
}

// holes reports whether the file system of temporary files can make holes.
func holes(t *testing.T) bool {
	file, err := os.Create(filepath.Join(t.TempDir(), "x"))
	if err != nil {
		return false
	}
	defer file.Close()
	const block = 4096
	file.Write(make([]byte, 3*block))
	return statedir.PunchHole(file, block, 2*block) == nil
}
