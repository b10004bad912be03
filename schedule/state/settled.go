package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"sched/schedule/statedir"
)

// An idle tick does not open the database, which would take a fifth of its time. The file settled
// beside it says what an earlier tick has seen to in it, and what the database was like then
// (Mark).

func settledPath(dir string) string { return filepath.Join(dir, "settled") }

// markAge is how old the last change of the file must be for a mark: some file systems count its
// time in steps of two seconds, and a second change in the same step would go unnoticed.
const markAge = 3 * time.Second

// Mark tells the database of a folder from what it is after any change. Read it before you read the
// database. It is empty when a change could go unnoticed: while a process has the database open,
// after it was killed, and for three seconds after a change.
func Mark(dir string) string {
	path := filepath.Join(dir, "sched.db")
	info, err := os.Stat(path)
	if err != nil || time.Since(info.ModTime()) < markAge {
		return ""
	}
	if _, err := os.Lstat(path + "-wal"); err == nil {
		return ""
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprint(stat.Dev, " ", stat.Ino, " ", info.Size(), " ", info.ModTime().UnixNano())
}

// Settled reports whether Settle has said these words last, and whether nothing has changed in the
// database since.
func Settled(dir, words string) (said, unchanged bool) {
	text, err := statedir.ReadFile(settledPath(dir))
	if err != nil {
		return false, false
	}
	_, last, _ := strings.Cut(string(text), "\n")
	said = last == words
	return said, said && unchangedSince(dir, string(text))
}

// NothingWaits reports whether nothing in the database is left for a later tick to see to: nothing
// was when Settle was called last, and the database has not changed since; or there is none yet.
func NothingWaits(dir string) bool {
	if _, err := os.Lstat(filepath.Join(dir, "sched.db")); errors.Is(err, fs.ErrNotExist) {
		return true
	}
	text, err := statedir.ReadFile(settledPath(dir))
	return err == nil && unchangedSince(dir, string(text))
}

// unchangedSince reports whether the database is as it was when the text of the file was written.
func unchangedSince(dir, text string) bool {
	mark, _, _ := strings.Cut(text, "\n")
	return mark != "" && mark == Mark(dir)
}

// Settle says what was seen to in the database, which is closed. The mark is from before it was
// read; it is empty when a later tick has to look into the database all the same.
func Settle(dir, mark, words string) error {
	if mark != Mark(dir) {
		mark = "" // the next tick looks again
	}
	if said, unchanged := Settled(dir, words); unchanged || said && mark == "" {
		return nil
	}
	return statedir.Replace(settledPath(dir), []byte(mark+"\n"+words))
}
