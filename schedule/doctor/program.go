package doctor

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

// A programPlace is the place in which the programs of a task are looked for.
type programPlace struct {
	dir, path string
	known     bool // the path is
}

type missing struct{ text, hint string }

// lacks returns which programs of the command are missing, or cannot be started.
func (p programPlace) lacks(c schedule.Command) (all []missing) {
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
				all = append(all, missing{"there is no program " + name + " in " + p.path, "set the PATH of the task, or write the whole path of " + name})
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
func (p programPlace) startProblem(name, file string) missing {
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return missing{"there is no " + file, ""}
	case err != nil:
		return missing{}
	case info.IsDir():
		return missing{name + " is a folder", ""}
	case info.Mode()&0o111 == 0:
		return missing{name + " is not executable", "chmod +x " + name}
	}
	return p.interpreterProblem(name, file)
}

// interpreterProblem says why the interpreter of a script, in its first line, cannot be started.
func (p programPlace) interpreterProblem(name, file string) missing {
	line := firstLine(file)
	words := strings.Fields(strings.TrimPrefix(line, "#!"))
	if !strings.HasPrefix(line, "#!") || len(words) == 0 {
		return missing{}
	}
	if strings.HasSuffix(line, "\r") {
		return missing{name + " has line ends of Windows, so its interpreter is not found", "sed -i 's/\\r$//' " + name}
	}
	if _, err := os.Stat(words[0]); errors.Is(err, fs.ErrNotExist) {
		return missing{name + " begins with " + line + ", and there is no " + words[0], ""}
	}
	if filepath.Base(words[0]) == "env" && len(words) == 2 && p.known && process.Find(words[1], p.path, p.dir) == "" {
		return missing{name + " begins with " + line + ", and there is no program " + words[1] + " in " + p.path, "set the PATH of the task"}
	}
	return missing{}
}

// firstLine returns the first line of a file, without its end; "" for a file that cannot be read or
// begins with no text.
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
