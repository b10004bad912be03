package preflight

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"sched/schedule"
	"sched/schedule/process"
)

// A place is where the programs of a task are looked for.
type place struct {
	dir, path string
	known     bool // the path is
}

type lack struct{ text, hint string }

// lacks returns which programs of the command are missing, or cannot be started.
func (p place) lacks(c schedule.Command) (all []lack) {
	for _, name := range programsOf(c) {
		file := name
		switch {
		case strings.Contains(name, "/"):
			if !filepath.IsAbs(file) {
				file = filepath.Join(p.dir, file)
			}
		case !p.known:
			continue
		default:
			if file = process.Find(name, p.path, p.dir); file == "" {
				all = append(all, lack{"there is no program " + name + " in " + p.path, "set PATH in `env:`, or write the whole path of " + name})
				continue
			}
		}
		if problem := p.startProblem(name, file); problem.text != "" {
			all = append(all, problem)
		}
	}
	return all
}

// startProblem says why the file of a program cannot be started.
func (p place) startProblem(name, file string) lack {
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return lack{"there is no " + file, ""}
	case err != nil:
		return lack{}
	case info.IsDir():
		return lack{name + " is a folder", ""}
	case info.Mode()&0o111 == 0:
		return lack{name + " is not executable", "chmod +x " + name}
	}
	return p.interpreterProblem(name, file)
}

// interpreterProblem says why the interpreter of a script, in its first line, cannot be started.
func (p place) interpreterProblem(name, file string) lack {
	line := firstLine(file)
	words := strings.Fields(strings.TrimPrefix(line, "#!"))
	if !strings.HasPrefix(line, "#!") || len(words) == 0 {
		return lack{}
	}
	if strings.HasSuffix(line, "\r") {
		return lack{name + " has line ends of Windows, so its interpreter is not found", "sed -i 's/\\r$//' " + name}
	}
	if _, err := os.Stat(words[0]); errors.Is(err, fs.ErrNotExist) {
		return lack{name + " begins with " + line + ", and there is no " + words[0], ""}
	}
	if filepath.Base(words[0]) == "env" && len(words) == 2 && p.known && process.Find(words[1], p.path, p.dir) == "" {
		return lack{name + " begins with " + line + ", and there is no program " + words[1] + " in " + p.path, "set PATH in `env:`"}
	}
	return lack{}
}

// firstLine returns the first line of a file, without its end; "" for a file that cannot be read or begins with no text.
func firstLine(file string) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	line, _ := bufio.NewReaderSize(f, 256).ReadSlice('\n')
	return strings.TrimSuffix(string(line), "\n")
}

// programsOf returns the programs that a command surely starts: the first word of a list, or the
// shell and the first program of a line.
func programsOf(c schedule.Command) []string {
	if len(c.List) > 0 {
		return c.List[:1]
	}
	if len(c.Shell) == 0 {
		return nil
	}
	programs := c.Shell[:1:1]
	if first := firstProgram(c.Line); first != "" && isShell(c.Shell[0]) {
		programs = append(programs, first)
	}
	return programs
}
