package preflight

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"sched/schedule"
	"sched/schedule/account"
	"sched/schedule/cgroup"
	"sched/schedule/envfile"
	"sched/schedule/humanize"
	"sched/schedule/mask"
	"sched/schedule/process"
	"sched/schedule/statedir"
)

// NoCgroupHint says where sched may make cgroups.
const NoCgroupHint = "root may make cgroups, and a unit of systemd with Delegate=yes, " +
	"on a Linux with cgroups of version 2"

// A Machine is what tasks would find if they ran now. It looks at each thing once. Safe for
// concurrent use.
type Machine struct {
	Environ []string // the variables that sched would have

	shells   shells
	accounts memo[accountKey, error]
	envFiles memo[string, fileVariables] // by envFileKey
	noEnv    memo[string, error]         // why env_file cannot be used, by envFileKey and account
	folders  memo[string, string]        // what folderDefect returns for a path
	outputs  memo[string, string]        // what makeDefect returns for a path
	programs memo[program, defect]
}

// An accountKey names what process.CheckAs looks at.
type accountKey struct{ user, group, nice string }

func keyOf(as schedule.As) accountKey {
	key := accountKey{user: as.User, group: as.Group}
	if as.Nice != nil {
		key.nice = strconv.Itoa(*as.Nice)
	}
	return key
}

// envFileKey is the same for tasks that have the same variables from files.
func envFileKey(t *schedule.Task) string {
	return fmt.Sprintf("%q %q %q", t.EnvFiles, t.Env, t.Secrets)
}

// fileVariables are the variables of files, or why they are unknown.
type fileVariables struct {
	pairs []string
	err   error
}

// LacksOf returns what each of the tasks lacks, as Lacks does. It uses all processors.
func (m *Machine) LacksOf(tasks []*schedule.Task) [][]Lack {
	lacks := make([][]Lack, len(tasks))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, t := range tasks {
		group.Go(func() error {
			lacks[i] = m.Lacks(t)
			return nil
		})
	}
	group.Wait()
	return lacks
}

// Lacks returns what the task lacks. If it is Root or an Account, that is the first one. A lack of
// Root, an Account or an EnvFile has no hint: what it means depends on who asks.
func (m *Machine) Lacks(t *schedule.Task) (lacks []Lack) {
	report := func(kind Kind, key, hint, format string, args ...any) {
		lacks = append(lacks, Lack{kind, t.Problem(key, hint, format, args...)})
	}
	if err := m.checkAs(t.As); errors.Is(err, account.ErrNotRoot) {
		report(Root, "", "", "%v", err)
	} else if err != nil {
		report(Account, "", "", "%v", err)
	} else if err := m.checkEnvFiles(t); errors.As(err, new(*mask.ShortError)) {
		report(Program, "secrets", "make it longer, or take it out of secrets: else each run fails", "%v", err)
	} else if err != nil {
		report(EnvFile, "", "", "%v", err)
	}
	if t.Limits.CPU > 0 {
		if _, err := cgroup.Here(); err != nil {
			text := process.LimitsText(schedule.Limits{CPU: t.Limits.CPU}, err)
			report(Cgroup, "limits.cpu", NoCgroupHint, "%s", text)
		}
	}
	if text := m.folders.get(t.Dir, func() string { return folderDefect(t.Dir) }); text != "" {
		report(Program, "dir", "the task fails with 126 when it is not there in time", "dir: %s", text)
		return lacks // the programs are looked for in it
	}
	if t.Output.File != "" {
		folder := filepath.Dir(t.Output.File)
		if text := m.outputs.get(folder, func() string { return makeDefect(folder) }); text != "" {
			report(OutputFile, "output", "the copy is not made then; the task runs", "output: %s", text)
		}
	}
	place := programPlace{dir: t.Dir, isFileFolder: t.Dir == t.Folder}
	place.path, place.pathKnown = m.Path(t)
	for _, c := range commandsOf(t) {
		for _, defect := range m.programDefects(place, c.command) {
			report(Program, c.key, defect.hint, "%s: %s", c.key, defect.text)
		}
		if folder := m.missingFolder(t, c); folder != "" {
			report(Program, c.key, "the command fails if it is not there in time", "%s: %s", c.key, folder)
		}
		if text := m.shells.syntaxError(c.command); text != "" {
			report(Program, c.key, "if it is written for bash: `shell: [/bin/bash, -c]`", "%s: %s cannot read it: %s",
				c.key, c.command.Shell[0], text)
			continue
		}
		for _, word := range m.shells.unknownWords(c.command) {
			report(Program, c.key, "write `shell: [/bin/bash, -c]`, or say it as POSIX does",
				"%s: %s is not known to %s", c.key, word, c.command.Shell[0])
		}
	}
	return lacks
}

// programDefects says which programs and which script a command cannot start. A script without its
// interpreter is not looked for.
func (m *Machine) programDefects(place programPlace, c schedule.Command) (defects []defect) {
	for i, name := range programsOf(c) {
		p := program{programPlace: place, name: name, isDirect: i == 0 && len(c.List) > 0}
		if defect := m.programs.get(p, p.defect); defect.text != "" {
			defects = append(defects, defect)
		}
	}
	if by, script := scriptOf(c); script != "" && len(defects) == 0 {
		p := program{programPlace: place, name: script, interpreter: filepath.Base(by)}
		if defect := m.programs.get(p, p.scriptDefect); defect.text != "" {
			defects = append(defects, defect)
		}
	}
	return defects
}

// missingFolder says which folder a command needs and does not find; else "". A hook before the
// command may make it.
func (m *Machine) missingFolder(t *schedule.Task, c keyedCommand) string {
	if c.key == "command" && len(t.Hooks.Before) > 0 {
		return ""
	}
	for _, folder := range foldersOf(c.command) {
		if text := m.folders.get(folder, func() string { return folderDefect(folder) }); text != "" {
			return text
		}
	}
	return ""
}

func (m *Machine) checkAs(as schedule.As) error {
	return m.accounts.get(keyOf(as), func() error { return process.CheckAs(as) })
}

func (m *Machine) checkEnvFiles(t *schedule.Task) error {
	if len(t.EnvFiles) == 0 && len(t.Secrets) == 0 {
		return nil
	}
	key := fmt.Sprint(keyOf(t.As), envFileKey(t))
	return m.noEnv.get(key, func() error { return process.CheckEnvFiles(t, m.Environ) })
}

// A Lack is what a task does not have on this machine.
type Lack struct {
	Kind Kind
	schedule.Problem
}

// A Kind says what is lacking.
type Kind int

const (
	Root       Kind = iota // the rights to run the task as its user
	Account                // its user or group
	EnvFile                // a file of env_file
	Cgroup                 // a cgroup, which keeps its limit of CPU
	OutputFile             // the place for the copy of its output; it runs all the same
	Program                // its folder, or a command that can start there
)

// MergeSame makes one lack of lacks that several tasks have in the same words: the lack of the
// first task, with the names of the others. The lacks of a task stand together.
func MergeSame(all []Lack) (merged []Lack) {
	type words struct{ text, hint string }
	tasks := map[words][]string{}
	for _, p := range all {
		same := words{p.Text, p.Hint}
		if tasks[same] == nil {
			merged = append(merged, p)
		}
		if names := tasks[same]; len(names) == 0 || names[len(names)-1] != p.Task {
			tasks[same] = append(tasks[same], p.Task)
		}
	}
	for i, p := range merged {
		if others := tasks[words{p.Text, p.Hint}][1:]; len(others) > 0 {
			merged[i].Text += "; the same for " + strings.Join(others, ", ")
		}
	}
	return merged
}

// Path returns the PATH that commands of the task have, and whether it is known: an env_file may be
// missing.
func (m *Machine) Path(t *schedule.Task) (path string, known bool) {
	if path, isSet := t.Env["PATH"]; isSet && len(t.EnvFiles) == 0 {
		return path, true
	}
	env := m.Environ
	if known = true; len(t.EnvFiles) > 0 {
		env, known = m.Variables(t)
	}
	path, _ = process.Lookup(env)("PATH")
	return path, known
}

// Variables returns the environment that commands of the task have, but for the variables of a run,
// and whether it is known.
func (m *Machine) Variables(t *schedule.Task) (env []string, known bool) {
	env = process.Environ(m.Environ, *t)
	if len(t.EnvFiles) > 0 {
		files := m.envFiles.get(envFileKey(t), func() (v fileVariables) {
			v.pairs, v.err = envfile.Read(t.EnvFiles, process.Lookup(env))
			return v
		})
		if files.err != nil {
			return nil, false
		}
		env = append(env, files.pairs...)
	}
	for _, name := range t.EnvOverrides {
		env = append(env, name+"="+t.Env[name])
	}
	if t.As.User != "" {
		env = append(env, "HOME=", "USER=", "LOGNAME=")
	}
	return env, true
}

// folderDefect says why the path is no folder; "" if it is a folder, or if we have no right to
// look.
func folderDefect(path string) string {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return ""
	case errors.Is(err, fs.ErrNotExist):
		return "there is no folder " + path
	case err != nil:
		return fmt.Sprintf("%s: %v", path, humanize.WithoutPath(err))
	case !info.IsDir():
		return path + " is not a folder"
	}
	return ""
}

// makeDefect says why the path is no folder and cannot become one, as the copy of an output makes
// it; else "".
func makeDefect(path string) string {
	existing := FirstExisting(path)
	if text := folderDefect(existing); text != "" || existing == path {
		return text
	}
	if unix.Access(existing, unix.W_OK|unix.X_OK) != nil {
		return fmt.Sprintf("the folder %s cannot be made: this user may not write in %s", path, existing)
	}
	return ""
}

// ProgramNames returns the names, without a folder, of the programs that the commands of the task
// start for sure: a PATH must find them.
func ProgramNames(t *schedule.Task) (names []string) {
	for _, c := range commandsOf(t) {
		for _, name := range programsOf(c.command) {
			if !strings.Contains(name, "/") && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// A programPlace is the place in which the programs of a task are looked for.
type programPlace struct {
	dir, path    string
	pathKnown    bool // false: an env_file, which may set it, cannot be read
	isFileFolder bool // dir is the folder of the schedule
}

// missing is the defect of a file that is not there. name is how the command names it.
func (p programPlace) missing(name, text string) defect {
	switch {
	case splitHint(name) != "" || filepath.IsAbs(name):
		return defect{text, splitHint(name)}
	case p.isFileFolder:
		return defect{text, "paths are relative to the folder of the file, or to `dir`"}
	}
	return defect{text, "paths are relative to the folder in which the task runs, " + p.dir}
}

// splitHint is for a list whose first item has the arguments, too; else it is "".
func splitHint(name string) string {
	words := strings.Fields(name)
	if len(words) < 2 || slices.ContainsFunc(words, func(word string) bool { return !isPlainWord(word) }) {
		return ""
	}
	return "write one text, or [" + strings.Join(words, ", ") + "]"
}

// shortPath returns the first folders of a long PATH.
func shortPath(path string) string {
	const most = 48 // bytes
	if len(path) <= most {
		return path
	}
	cut := strings.LastIndexByte(path[:most], ':')
	if cut < 0 {
		return "its PATH"
	}
	return path[:cut] + ":…"
}

// A program is what a command calls by a name, in a place.
type program struct {
	programPlace
	name        string
	interpreter string // of a script; else ""
	isDirect    bool   // the kernel starts it: a shell would read a script without an interpreter
}

// A defect says why a program cannot be started; its text is empty if it can be.
type defect struct{ text, hint string }

// defect says why the program is missing, or cannot be started.
func (p program) defect() defect {
	file := p.name
	switch {
	case strings.Contains(p.name, "/"):
		if !filepath.IsAbs(file) {
			file = filepath.Join(p.dir, file)
		}
	case !p.pathKnown:
		return defect{}
	default:
		if file = process.FindProgram(p.name, p.path, p.dir); file == "" {
			if info, err := os.Stat(filepath.Join(p.dir, p.name)); err == nil && info.Mode().IsRegular() {
				return defect{"there is no program " + p.name + " in " + shortPath(p.path), "write ./" + p.name}
			}
			return defect{"there is no program " + p.name + " in " + shortPath(p.path),
				cmp.Or(splitHint(p.name), "set the PATH of the task, or write the whole path of "+p.name)}
		}
	}
	found := p.startDefect(p.name, file)
	if found.text == "" && p.isDirect && isTextWithoutInterpreter(file) {
		return defect{p.name + " names no interpreter, and no shell starts a list", "its first line must be #!/bin/sh"}
	}
	return found
}

// scriptDefect says that the file is missing which an interpreter is given. A shell looks for a
// name without a folder in the PATH, too.
func (p program) scriptDefect() defect {
	file := p.name
	if !filepath.IsAbs(file) {
		file = filepath.Join(p.dir, file)
	}
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		return defect{}
	}
	if isShell(p.interpreter) && !strings.Contains(p.name, "/") &&
		(!p.pathKnown || process.FindProgram(p.name, p.path, p.dir) != "") {
		return defect{}
	}
	return p.missing(p.name, fmt.Sprintf("there is no %s (the script of %s)", file, p.interpreter))
}

// startDefect says why the file of a program cannot be started.
func (p programPlace) startDefect(name, file string) defect {
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return p.missing(name, "there is no "+file)
	case err != nil:
		return defect{}
	case info.IsDir():
		return defect{name + " is a folder", ""}
	case info.Mode()&0o111 == 0:
		return defect{name + " is not executable", "chmod +x " + name}
	}
	return p.interpreterDefect(name, file)
}

// interpreterDefect says why the interpreter of a script, in its first line, cannot be started.
func (p programPlace) interpreterDefect(name, file string) defect {
	line := FirstLine(file)
	isWindows := strings.HasSuffix(line, "\r")
	line = humanize.Line(line)
	words := strings.Fields(strings.TrimPrefix(line, "#!"))
	if !strings.HasPrefix(line, "#!") || len(words) == 0 {
		return defect{}
	}
	if isWindows {
		return defect{name + " has line ends of Windows, so its interpreter is not found", "sed -i 's/\\r$//' " + name}
	}
	if _, err := os.Stat(words[0]); errors.Is(err, fs.ErrNotExist) {
		return defect{name + " begins with " + line + ", and there is no " + words[0], ""}
	}
	isEnv := filepath.Base(words[0]) == "env" && len(words) == 2
	if isEnv && p.pathKnown && process.FindProgram(words[1], p.path, p.dir) == "" {
		return defect{name + " begins with " + line + ", and there is no program " + words[1] + " in " +
			shortPath(p.path),
			"set the PATH of the task"}
	}
	return defect{}
}

// isTextWithoutInterpreter reports whether the kernel cannot start a file, because it begins with a
// line of text that is no #!.
func isTextWithoutInterpreter(file string) bool {
	line := FirstLine(file)
	isNoText := func(r rune) bool { return r != '\t' && !unicode.IsPrint(r) || r == unicode.ReplacementChar }
	return line != "" && !strings.HasPrefix(line, "#!") && !strings.ContainsFunc(line, isNoText)
}

// FirstLine returns the first line of a file, without its end; "" for a file that cannot be read or
// begins with no text.
func FirstLine(file string) string {
	f, err := statedir.OpenPlain(file, os.O_RDONLY)
	if err != nil {
		return ""
	}
	defer f.Close()
	line, _ := bufio.NewReaderSize(f, 256).ReadSlice('\n')
	return strings.TrimSuffix(string(line), "\n")
}

// programsOf returns the programs that a command needs: the first word of a list, or the shell and
// the programs of a line, as far as they are sure, and in both the programs behind wrappers.
func programsOf(c schedule.Command) []string {
	if len(c.List) > 0 {
		return append(c.List[:1:1], wrapped(c)...)
	}
	if len(c.Shell) == 0 {
		return nil
	}
	programs := c.Shell[:1:1]
	if first := FirstProgram(c.Line); first != "" && isShell(c.Shell[0]) {
		programs = append(programs, first)
	}
	programs = append(programs, wrapped(c)...)
	if isShell(c.Shell[0]) {
		programs = append(programs, laterPrograms(c.Line)...)
	}
	return programs
}

// FirstExisting returns the path, or the first folder above it that is there.
func FirstExisting(path string) string {
	for path != "/" {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		path = filepath.Dir(path)
	}
	return path
}
