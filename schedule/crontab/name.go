package crontab

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

// names gives each task a name of its own.
type names map[string]int

// unique returns the name, or where it is taken the name with -2, -3, …
func (n names) unique(name string) string {
	for {
		n[name]++
		if n[name] == 1 {
			return name
		}
		if next := fmt.Sprintf("%s-%d", name, n[name]); n[next] == 0 {
			n[next] = 1
			return next
		}
	}
}

var (
	assignment = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)
	extension  = regexp.MustCompile(`\.(sh|bash|py|pl|rb|php|js|mjs|ts|jar|R)$`)
	notInName  = regexp.MustCompile(`[^a-z0-9._:]+`)
	subcommand = regexp.MustCompile(`^[a-z][a-z:_-]{2,}$`)
)

// wrappers are programs that start another one, with the flags of theirs that have a value.
var wrappers = map[string]string{
	"sudo": "ugCp", "nice": "n", "ionice": "cnp", "timeout": "ks", "flock": "wE", "chronic": "", "env": "uS", "nohup": "",
	"setsid": "", "exec": "", "time": "of", "cronic": "", "command": "", "systemd-cat": "tp", "stdbuf": "ioe", "chpst": "u",
	"unbuffer": "", "xvfb-run": "", "runuser": "u", "caffeinate": "", "eatmydata": "", "faketime": "", "ifne": "", "test": "", "[": "",
}

// operators are those between commands.
var operators = map[string]bool{"&&": true, "||": true, "|": true, ";": true, "&": true}

// operands is how many words a wrapper has before the command.
var operands = map[string]int{"timeout": 1, "flock": 1}

// interpreters are programs whose script or task says what runs.
var interpreters = map[string]bool{
	"sh": true, "bash": true, "dash": true, "zsh": true, "ksh": true, "perl": true, "python": true, "python2": true, "python3": true,
	"php": true, "ruby": true, "node": true, "nodejs": true, "java": true, "Rscript": true, "bundle": true, "rake": true, "rails": true,
	"artisan": true, "console": true, "manage": true, "npm": true, "npx": true, "yarn": true, "pnpm": true, "run": true,
	"run-parts": true, "make": true, "poetry": true, "pipenv": true, "uv": true, "composer": true, "wp": true, "drush": true,
}

// nameOf makes a name of what a command runs: "backup" of "cd /srv && flock -n /tmp/lock ./backup.sh >> log".
func nameOf(command string) string {
	all, _ := words(strings.ReplaceAll(command, "\n", ";"))
	if all == nil {
		for _, text := range strings.Fields(command) {
			if strings.HasPrefix(text, "#") {
				break // a comment of the shell
			}
			all = append(all, word{text: text, operator: operators[text]})
		}
	}
	parts := programOf(all)
	for i, part := range parts {
		parts[i] = notInName.ReplaceAllString(strings.ToLower(extension.ReplaceAllString(path.Base(part), "")), "-")
	}
	name := strings.Trim(strings.Join(parts, "-"), "-._:")
	if name = name[:min(len(name), 60)]; name == "" {
		return "task"
	}
	return name
}

// programOf returns the words that say what runs: the program, or for an interpreter its script, and a word that names what it
// shall do.
func programOf(all []word) (parts []string) {
	for i := 0; i < len(all); i++ {
		text := all[i].text
		switch {
		case all[i].operator, assignment.MatchString(text), text == "{", text == "}", text == "!", text == "":
		case text == "cd", text == "[", text == "test", text == "sleep", text == ".", text == "source", text == "export", text == "umask":
			for i+1 < len(all) && !all[i+1].operator { // what comes next is the command
				i++
			}
		case isWrapper(text):
			i = skipFlags(all, i, wrappers[path.Base(text)]) + operands[path.Base(text)]
		case strings.HasPrefix(text, "-") && strings.HasSuffix(text, "c") && i+1 < len(all): // sh -c '…', flock FILE -c '…'
			if inner, ok := words(all[i+1].text); ok {
				return programOf(inner)
			}
		case strings.HasPrefix(text, "-"):
		case interpreters[strings.TrimSuffix(path.Base(text), path.Ext(text))]:
			if i = skipFlags(all, i, "Cd"); i+1 < len(all) && !all[i+1].operator {
				continue
			}
			return []string{text}
		default:
			parts = append(parts, text)
			if next := i + 1; next < len(all) && text != "tar" && !strings.Contains(text, ".") && subcommand.MatchString(all[next].text) && !all[next].operator {
				parts = append(parts, all[next].text)
			}
			return parts
		}
	}
	return nil
}

func isWrapper(text string) bool {
	_, is := wrappers[path.Base(text)]
	return is
}

// skipFlags returns the index of the last flag behind a program; valued are the letters of those with a value.
func skipFlags(all []word, i int, valued string) int {
	for i+1 < len(all) && strings.HasPrefix(all[i+1].text, "-") && (!strings.HasSuffix(all[i+1].text, "c") || strings.Contains(valued, "c")) {
		i++
		if flag := all[i].text; len(flag) == 2 && strings.Contains(valued, flag[1:]) {
			i++
		}
	}
	return i
}
