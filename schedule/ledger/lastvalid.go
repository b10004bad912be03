package ledger

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"

	"sched/schedule"
	"sched/schedule/labels"
	"sched/schedule/statedir"
)

// lastValidPath names the copy of the last schedule that was valid.
func lastValidPath(dir string) string { return filepath.Join(dir, "last-valid.yaml") }

// stamp is the first line of the copy. It holds the digest of what the copy was made from, and where tasks have `servers` also what
// this machine was.
func stamp(s *schedule.Schedule) []byte {
	line := "; digest " + s.Digest
	if s.Machine.Name != "" || len(s.Machine.Labels) > 0 {
		line += forMachine + strings.Join(append([]string{s.Machine.Name}, s.Machine.Labels...), " ")
	}
	return append(origin(s.File), line+"\n"...)
}

const forMachine = "; for "

// machineBefore returns what this machine was when the copy was made: tasks were compared with that.
func machineBefore(dir string) (m labels.Machine) {
	const longest = 16 << 10
	line, _, _ := bytes.Cut(readStart(lastValidPath(dir), longest), []byte("\n"))
	if i := strings.LastIndex(string(line), forMachine); i >= 0 {
		words := strings.Split(string(line[i+len(forMachine):]), " ")
		m.Name, m.Labels = words[0], words[1:]
	}
	return m
}

// origin is how a copy of the schedule in file begins. Two schedules that share a state folder do
// not run each other's copy.
func origin(file string) []byte { return []byte("# the last valid " + file + ", kept by sched") }

// KeepValid keeps a copy of a valid schedule, for the day when an edit breaks the file
// (docs/decisions.md#the-last-valid-schedule-is-one-file). An unchanged schedule costs one read of one line.
func KeepValid(dir string, valid *schedule.Schedule) error {
	first := stamp(valid)
	if bytes.Equal(readStart(lastValidPath(dir), len(first)), first) {
		return nil
	}
	archive, err := valid.Archive()
	if err != nil {
		return err
	}
	return statedir.Replace(lastValidPath(dir), append(first, archive...))
}

// LastValid returns the copy of the schedule in file, for load.Archive; the error is os.ErrNotExist when there is
// none.
func LastValid(dir, file string) ([]byte, error) {
	text, err := statedir.ReadFile(lastValidPath(dir))
	if err == nil && !bytes.HasPrefix(text, origin(file)) {
		return nil, os.ErrNotExist
	}
	_, archive, _ := bytes.Cut(text, []byte("\n"))
	return archive, err
}

// readStart returns the first n bytes of a file, or fewer.
func readStart(path string, n int) []byte {
	file, err := statedir.OpenPlain(path, os.O_RDONLY)
	if err != nil {
		return nil
	}
	defer file.Close()
	start := make([]byte, n)
	got, _ := file.Read(start)
	return start[:got]
}
