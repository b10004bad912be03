// Package envfile reads the files of env_file, which are a part of the environment of a command.
// The reader is our own: joho/godotenv drops the $27 of SECRET=xTvDqw$27 and quotes the file in its
// errors, which would put passwords into the history. The tests read a typical file with both, and
// say when that has changed.
package envfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"

	"sched/schedule/humanize"
)

// largest is more than the kernel takes as an environment.
const largest = 4 << 20

// patience is how long the read of an env_file may wait for data.
const patience = time.Second

// Read returns the variables of the files, in their order. ${NAME} in a file stands for a variable
// that a line before it has set, or else for what lookup finds. A file that cannot be used is left
// out, and the error names the first such file.
func Read(files []string, lookup func(name string) (string, bool)) (pairs []string, err error) {
	set := map[string]string{}
	for _, path := range files {
		text, problem := readFile(path)
		var added []string
		if problem == nil {
			added, problem = Parse(text, func(name string) (string, bool) {
				if value, ok := set[name]; ok {
					return value, true
				}
				return lookup(name)
			})
		}
		if problem != nil && err == nil {
			err = Error(path, problem)
		}
		for _, pair := range added {
			name, value, _ := strings.Cut(pair, "=")
			set[name] = value
		}
		pairs = append(pairs, added...)
	}
	return pairs, err
}

// Error returns the error about a file. It names the file, and never its content.
func Error(path string, problem error) error {
	if errors.Is(problem, fs.ErrNotExist) {
		return fmt.Errorf("env_file %s does not exist", path)
	}
	return fmt.Errorf("env_file %s: %w", path, problem)
}

// readFile reads a file with the rights of this process. As root it takes no variables from a
// file that others can write: with LD_PRELOAD or PATH they would be root.
func readFile(path string) (string, error) {
	// Without O_NONBLOCK the open of a named pipe would wait for a writer.
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", humanize.WithoutPath(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", humanize.WithoutPath(err)
	}
	owner, _ := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular():
		return "", errors.New("it is not a regular file")
	case info.Size() > largest:
		return "", errors.New("it is larger than 4 MiB")
	case os.Geteuid() == 0 && info.Mode().Perm()&0o022 != 0:
		return "", errors.New("others than its owner can write it, and the task runs as root (chmod go-w)")
	case os.Geteuid() == 0 && owner != nil && owner.Uid != 0:
		return "", fmt.Errorf("it belongs to another user (uid %d), and the task runs as root", owner.Uid)
	}
	// A file of the kernel, as /proc/kmsg, looks like a regular one, and a read of it may wait for
	// ever. Files that never wait, as on disks, have no deadline.
	_ = file.SetReadDeadline(time.Now().Add(patience))
	content, err := io.ReadAll(io.LimitReader(file, largest))
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return "", fmt.Errorf("it does not end: nothing came for %s", patience)
	}
	return string(content), humanize.WithoutPath(err)
}

// Parse reads the text of an env_file: a NAME=value a line, as in the .env files of Laravel,
// Ruby and Node. It runs nothing. No error repeats the text, which may be secret.
//
//	# a comment, and one after a value: the # follows a blank
//	export NAME = value         export and blanks around = may be there
//	NAME='as it stands'         single quotes; lines may end inside
//	NAME="a\nb ${OTHER}"        double quotes know \n \r \t \\ \" \$; lines may end inside
//
// ${OTHER} is the value of a variable that was set before, in this file or by lookup, in double
// quotes or without quotes. Any other $ is only a $: passwords hold it.
func Parse(text string, lookup func(string) (string, bool)) (pairs []string, err error) {
	p := &parser{rest: strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n"), line: 1}
	if strings.IndexByte(text, 0) >= 0 {
		return nil, errors.New("it holds a null character")
	}
	set := map[string]string{}
	p.lookup = func(name string) (string, bool) {
		if value, ok := set[name]; ok {
			return value, true
		}
		return lookup(name)
	}
	for p.nextLine() {
		at := p.line
		name, value, err := p.pair()
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", at, err)
		}
		set[name] = value
		pairs = append(pairs, name+"="+value)
	}
	return pairs, nil
}

type parser struct {
	rest   string
	line   int // of rest, from 1
	lookup func(string) (string, bool)
}

// nextLine goes to the next line that says something, and reports false at the end.
func (p *parser) nextLine() bool {
	for p.rest != "" {
		line, after, _ := strings.Cut(p.rest, "\n")
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			return true
		}
		p.rest = after
		p.line++
	}
	return false
}

// pair reads a variable, to the end of its line.
func (p *parser) pair() (name, value string, err error) {
	line, _, _ := strings.Cut(p.rest, "\n")
	left, _, found := strings.Cut(line, "=")
	if !found {
		return "", "", errors.New(`there is no "="`)
	}
	p.rest = p.rest[len(left)+1:]
	name = strings.TrimSpace(left)
	if after, found := strings.CutPrefix(name, "export"); found && strings.TrimLeft(after, " \t") != after {
		name = strings.TrimSpace(after)
	}
	if !isVariable(name) {
		return "", "", errors.New(`what is before the "=" cannot name a variable`)
	}
	p.rest = strings.TrimLeft(p.rest, " \t")
	switch {
	case strings.HasPrefix(p.rest, "'"):
		value, err = p.quoted('\'')
	case strings.HasPrefix(p.rest, `"`):
		value, err = p.quoted('"')
	default:
		value, err = p.plain()
	}
	return name, value, err
}

// plain reads a value without quotes: up to a comment or the end of the line.
func (p *parser) plain() (string, error) {
	line, after, _ := strings.Cut(p.rest, "\n")
	p.rest = after
	p.line++
	for i := range len(line) {
		if line[i] == '#' && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t') {
			line = line[:i]
			break
		}
	}
	return p.expand(strings.TrimSpace(line))
}

// quoted reads a value in quotes, and the rest of the line, which may only be a comment.
func (p *parser) quoted(quote byte) (string, error) {
	var value strings.Builder
	part := 1 // where the part of rest begins that is not in value yet
	for i := 1; i < len(p.rest); i++ {
		switch c := p.rest[i]; {
		case c == quote:
			value.WriteString(p.rest[part:i])
			return value.String(), p.endLine(i + 1)
		case quote == '\'': // between single quotes each character stands for itself
		case c == '\\' && i+1 < len(p.rest):
			if escaped, ok := envFileEscapes[p.rest[i+1]]; ok {
				value.WriteString(p.rest[part:i] + escaped)
				part = i + 2
			}
			i++
		case strings.HasPrefix(p.rest[i:], "${"):
			variable, size, err := p.variable(p.rest[i:])
			if err != nil {
				return "", err
			}
			value.WriteString(p.rest[part:i] + variable)
			part = i + size
			i = part - 1
		}
	}
	return "", errors.New("the quotes are not closed")
}

var envFileEscapes = map[byte]string{'n': "\n", 'r': "\r", 't': "\t", '\\': `\`, '"': `"`, '$': "$"}

// endLine takes all up to the i-th byte of the rest, and the comment that may follow.
func (p *parser) endLine(i int) error {
	p.line += strings.Count(p.rest[:i], "\n")
	line, after, _ := strings.Cut(p.rest[i:], "\n")
	p.rest = after
	p.line++
	if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
		return errors.New("something follows the closing quotes")
	}
	return nil
}

// expand puts the values of variables in place of ${NAME}.
func (p *parser) expand(text string) (string, error) {
	var out strings.Builder
	for {
		before, after, found := strings.Cut(text, "${")
		out.WriteString(before)
		if !found {
			return out.String(), nil
		}
		value, size, err := p.variable("${" + after)
		if err != nil {
			return "", err
		}
		out.WriteString(value)
		text = after[size-2:]
	}
}

// variable returns the value of the ${NAME} with which the text begins, and the length of ${NAME}.
func (p *parser) variable(text string) (value string, size int, err error) {
	end := strings.IndexByte(text, '}')
	if end < 0 || !isVariable(text[2:end]) {
		return "", 0, errors.New("only ${NAME} can follow a ${; single quotes keep it as it stands")
	}
	value, ok := p.lookup(text[2:end])
	if !ok {
		return "", 0, errors.New("a variable in ${} is not set; single quotes keep it as it stands")
	}
	return value, end + 1, nil
}

// isVariable reports whether a variable may have this name: as in a shell, with dots as in Laravel.
func isVariable(name string) bool {
	for i := range len(name) {
		c := name[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_'
		if !letter && (i == 0 || c != '.' && (c < '0' || '9' < c)) {
			return false
		}
	}
	return name != ""
}
