package redact

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sched/schedule"
	"sched/schedule/mask"
	"sched/schedule/output"
	"sched/schedule/state"
	"sched/schedule/statedir"
)

const secret = "hunter2-of-the-test"

// write writes an output, and returns its path.
func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "run.log")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func source(t *testing.T, value string) Source {
	t.Helper()
	return Source{
		Task: &schedule.Task{Secrets: []string{"TOKEN"}, Env: map[string]string{"TOKEN": value},
			Output: schedule.Output{Limit: 64 << 10}},
		Row: &state.Row{},
	}
}

func TestAnOutputWithoutSecretsStaysTheSameFile(t *testing.T) {
	path := write(t, strings.Repeat("nothing\n", 1000))
	before, _ := os.Stat(path)
	notes := source(t, secret).Keep(path, "")
	if after, _ := os.Stat(path); len(notes) > 0 || !os.SameFile(before, after) {
		t.Errorf("it was written anew: %q", notes)
	}
}

func TestASecretAcrossTwoBuffersIsMaskedAndTheModeStays(t *testing.T) {
	path := write(t, strings.Repeat("x", bufferSize-5)+secret+"\nend "+secret[:10])
	os.Chmod(path, 0o610) // as output.MarkUnwritten
	task := source(t, secret)
	task.Task.Output.Limit = 0
	notes := task.Keep(path, "")
	text, _ := os.ReadFile(path)
	if len(notes) > 0 || string(text) != strings.Repeat("x", bufferSize-5)+mask.Shown+"\nend "+mask.Shown {
		t.Errorf("notes %q, the end is %q", notes, text[len(text)-40:])
	}
	if info, _ := os.Stat(path); info.Mode() != 0o610 {
		t.Errorf("its mode is %v", info.Mode())
	}
}

// Wherever a value lies in an output that is cut, no six bytes of it are left.
func TestACutLeavesNoPartOfASecret(t *testing.T) {
	const limit = 16 << 10
	long := strings.Repeat("0123456789abcdefghijklmnopqrstuvwxyz", 20)
	for begin := limit/2 - 200 - len(long); begin < limit/2+100; begin += 37 {
		text := bytes.Repeat([]byte("."), 3*limit) // in one line, so nothing is cut at an end of a line
		copy(text[begin:], long)
		copy(text[len(text)-begin-len(long):], long)
		path := write(t, string(text))
		file, _ := os.OpenFile(path, os.O_RDWR, 0)
		_ = statedir.PunchHole(file, 12<<10, 36<<10) // as the trimmer; some file systems cannot
		file.Close()
		if _, err := Cut(path, limit, mask.New([]string{long})); err != nil {
			t.Fatal(err)
		}
		kept, _ := os.ReadFile(path)
		for i := range len(long) - mask.Least {
			if bytes.Contains(kept, []byte(long[i:i+mask.Least])) {
				t.Fatalf("at %d: %q is left", begin, long[i:i+mask.Least])
			}
		}
		if bytes.IndexByte(kept, 0) >= 0 || len(kept) > limit {
			t.Fatalf("at %d: %d bytes are left", begin, len(kept))
		}
	}
}

// Values that are shorter than ••• make an output longer, and it stays within its limit.
func TestAMaskedOutputStaysWithinItsLimit(t *testing.T) {
	const limit = 16 << 10
	path := write(t, strings.Repeat("secret\n", limit/7))
	if _, err := Cut(path, limit, mask.New([]string{"secret"})); err != nil {
		t.Fatal(err)
	}
	if info, _ := os.Stat(path); info.Size() > limit {
		t.Errorf("it has %d bytes", info.Size())
	}
}

// A process that is killed while it masks leaves a draft, and one that is killed after the rename a
// masked file.
func TestMaskingIsDoneAgainAfterAKill(t *testing.T) {
	path := write(t, "pw="+secret+"\n")
	os.WriteFile(path+".cut", bytes.Repeat([]byte("torn "+secret), 10_000), 0o600)
	for range 2 {
		if notes := source(t, secret).Keep(path, ""); len(notes) > 0 {
			t.Error(notes)
		}
		if text, _ := os.ReadFile(path); string(text) != "pw=•••\n" {
			t.Errorf("it has %q", text)
		}
	}
	if _, err := os.Stat(path + ".cut"); err == nil {
		t.Error("the draft is still there")
	}
}

// On a full disk no draft can be written; a folder in its place does the same.
func TestAnOutputThatCannotBeMaskedIsPutAside(t *testing.T) {
	path := write(t, "pw="+secret+"\n")
	if err := os.MkdirAll(filepath.Join(path+".cut", "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	notes := source(t, secret).Keep(path, "own")
	text, _ := os.ReadFile(path)
	if len(notes) != 1 || bytes.Contains(text, []byte(secret)) || !strings.Contains(string(text), output.UnmaskedPath(path)) {
		t.Errorf("notes %q, and it has %q", notes, text)
	}
	if text, _ := os.ReadFile(output.UnmaskedPath(path)); string(text) != "pw="+secret+"\n" {
		t.Errorf("beside it is %q", text)
	}
	if info, _ := os.Stat(output.UnmaskedPath(path)); info.Mode() != 0o600 {
		t.Errorf("its mode is %v", info.Mode())
	}
}

func TestWhatSchedItselfSaysOfAMissingFileStays(t *testing.T) {
	path := write(t, "sched: cannot start: no file\n")
	s := source(t, secret)
	s.Task.EnvFiles = []string{filepath.Join(t.TempDir(), "none")}
	if notes := s.Keep(path, "sched: cannot start: no file\n"); len(notes) > 0 {
		t.Error(notes)
	}
	if notes := s.Keep(path, "sched: another reason\n"); len(notes) != 1 {
		t.Error("it was kept")
	}
}

func TestAFileThatHasChangedSinceIsANote(t *testing.T) {
	path, env := write(t, secret), filepath.Join(t.TempDir(), "env")
	os.WriteFile(env, []byte("A="+secret), 0o600)
	s := source(t, secret)
	s.Task.EnvFiles, s.Row.Started = []string{env}, time.Now().Add(-time.Minute)
	if notes := s.Keep(path, "own"); len(notes) != 1 || !strings.Contains(notes[0], "has changed since") {
		t.Errorf("notes %q", notes)
	}
}

// The end of a run that has printed 200 MB, with and without secrets. The command itself takes at
// least as long as `cat` for them.
func BenchmarkTheEndOfAFlood(b *testing.B) {
	line := "2026-11-29 19:24:07 INFO imported 18204 rows of orders from https://example.com/feed in 31 s\n"
	flood := bytes.Repeat([]byte(line), 200<<20/len(line))
	for name, secrets := range map[string]*mask.Set{"plain": nil, "masked": mask.New([]string{secret, "imported 18204"})} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(flood)))
			for b.Loop() {
				b.StopTimer()
				path := filepath.Join(b.TempDir(), "run.log")
				os.WriteFile(path, flood, 0o600)
				b.StartTimer()
				if _, err := Cut(path, 64<<20, secrets); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
