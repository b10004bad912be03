package doctor

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"sched/schedule/statedir"
)

// An Environment is what a tick was given by what called it. Of its variables it has the names alone, but for PATH and SHELL,
// since the others may be secret.
type Environment struct {
	Names  []string // of variables, sorted
	Path   string
	Shell  string
	Umask  string // in octal
	UID    int
	GID    int
	Zone   string            // the machine's, as this process sees it
	Limits map[string]uint64 // soft ones, by name; those without a limit are left out
}

// A Note is the environment of the last tick that had another one than the tick before.
type Note struct {
	Environment
	Since time.Time // of the first tick that had it
	By    []string  // the processes above it then, the nearest first: sh, cron; empty where they are not known
}

// limits are those that end commands, or keep them from starting.
var limits = []struct {
	name     string
	resource int
}{
	{"open files", unix.RLIMIT_NOFILE}, {"file size", unix.RLIMIT_FSIZE}, {"memory", unix.RLIMIT_AS}, {"cpu seconds", unix.RLIMIT_CPU},
}

// Here returns the environment of this process. environ is as os.Environ returns it. It sets the umask for a moment: no
// other goroutine may make files meanwhile.
func Here(environ []string, zone string) Environment {
	e := Environment{UID: os.Geteuid(), GID: os.Getegid(), Zone: zone, Limits: map[string]uint64{}}
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		e.Names = append(e.Names, name)
		switch name {
		case "PATH":
			e.Path = value
		case "SHELL":
			e.Shell = value
		}
	}
	slices.Sort(e.Names)
	umask := unix.Umask(0o77)
	unix.Umask(umask)
	e.Umask = fmt.Sprintf("%04o", umask)
	for _, l := range limits {
		var limit unix.Rlimit
		if unix.Getrlimit(l.resource, &limit) == nil && uint64(limit.Cur) < 1<<62 {
			e.Limits[l.name] = uint64(limit.Cur)
		}
	}
	return e
}

func notePath(dir string) string { return filepath.Join(dir, "tick-environment") }

// text is the environment in lines of a word and what it is: quick to make, since each tick does.
func (e Environment) text() []byte {
	text := make([]byte, 0, 1024)
	line := func(word, value string) { text = append(append(append(append(text, word...), ' '), value...), '\n') }
	line("path", strconv.Quote(e.Path))
	line("shell", strconv.Quote(e.Shell))
	line("umask", e.Umask)
	line("uid", strconv.Itoa(e.UID))
	line("gid", strconv.Itoa(e.GID))
	line("zone", e.Zone)
	for _, l := range limits {
		if value, is := e.Limits[l.name]; is {
			line("limit", strconv.FormatUint(value, 10)+" "+l.name)
		}
	}
	for _, name := range e.Names {
		line("variable", strconv.Quote(name))
	}
	return text
}

// Keep writes down the environment of a tick, in the state folder, where it is another one than before. Most ticks only
// read. Nothing is synced to disk: what a power cut takes away, the next tick writes again.
func Keep(dir string, e Environment, now time.Time) error {
	own := e.text()
	if before, err := readPlain(notePath(dir)); err == nil {
		_, environment, _ := bytes.Cut(before, []byte("\n"))
		_, environment, _ = bytes.Cut(environment, []byte("\n"))
		if bytes.Equal(environment, own) {
			return nil
		}
	}
	head := "since " + now.UTC().Format(time.RFC3339) + "\nby " + strconv.Quote(strings.Join(Callers(), "/")) + "\n"
	return writePlain(notePath(dir), append([]byte(head), own...))
}

// Noted returns what the last ticks wrote down; false where none did, or not to the end.
func Noted(dir string) (note Note, ok bool) {
	text, err := readPlain(notePath(dir))
	if err != nil {
		return note, false
	}
	note.Limits = map[string]uint64{}
	for line := range strings.Lines(string(text)) {
		word, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		note.set(word, value)
	}
	return note, len(note.Names) > 0 && bytes.HasSuffix(text, []byte("\n")) && !note.Since.IsZero()
}

// set reads one line of a note. It passes over what it does not know.
func (n *Note) set(word, value string) {
	plain, err := strconv.Unquote(value)
	if err != nil {
		plain = value
	}
	switch word {
	case "since":
		n.Since, _ = time.Parse(time.RFC3339, value)
	case "by":
		n.By = strings.FieldsFunc(plain, func(r rune) bool { return r == '/' })
	case "path":
		n.Path = plain
	case "shell":
		n.Shell = plain
	case "umask":
		n.Umask = value
	case "uid":
		n.UID, _ = strconv.Atoi(value)
	case "gid":
		n.GID, _ = strconv.Atoi(value)
	case "zone":
		n.Zone = value
	case "limit":
		number, name, _ := strings.Cut(value, " ")
		n.Limits[name], _ = strconv.ParseUint(number, 10, 64)
	case "variable":
		n.Names = append(n.Names, plain)
	}
}

func readPlain(path string) ([]byte, error) {
	file, err := statedir.OpenPlain(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return statedir.ReadAll(file)
}

func writePlain(path string, text []byte) error {
	file, err := statedir.Open(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	file.Close()
	return err
}
