package follow

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"sched/schedule/mask"
)

// --json writes U+FFFD for half a character.
func TestALongLineIsPrintedInPiecesOfWholeCharacters(t *testing.T) {
	t.Parallel()
	line := "a" + strings.Repeat("ü", 3*maxLine/2)
	path := filepath.Join(t.TempDir(), "run.log")
	if err := os.WriteFile(path, []byte(line+"\n\nnext\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var printed []string
	f := newFollowedFile(path, "task", "run", ofCommand, noSecrets)
	f.printNew(func(l outputLine) { printed = append(printed, l.Text) })
	f.end(func(l outputLine) { t.Errorf("%q comes at the end", l.Text) })
	n := len(printed) - 2
	if strings.Join(printed[:n], "") != line || strings.Join(printed[n:], "|") != "|next" {
		t.Errorf("%d lines are printed", len(printed))
	}
	for _, piece := range printed {
		if len(piece) > maxLine || !utf8.ValidString(piece) {
			t.Errorf("a piece of %d bytes is no whole text", len(piece))
		}
	}
}

func noSecrets() (*mask.Set, error) { return nil, nil }
