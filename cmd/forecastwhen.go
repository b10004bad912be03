package cmd

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"sched/schedule"
	"sched/schedule/cron"
	"sched/schedule/document"
	"sched/schedule/forecast"
	"sched/schedule/lazy"
)

// A whenPlace is where the value of a task's own cron or every stands in a file.
type whenPlace struct {
	file       *editedFile
	line       int // from 1; 0 is none
	begin, end int // bytes of the line: the value, without its quotes
	key, value string
}

// whenValue is a key with a value on its line: in quotes, or plain up to a comment, a comma or a bracket of a mapping in one line.
var whenValue = lazy.Regexp{Expr: `^(cron|every)[ \t]*:[ \t]+(?:"([^"\\]*)"|'([^']*)'|([^\s"'\[{&*!|>%@` + "`" + `#][^,\]}#\r\n]*))`}

// findWhen finds where a task says when it is due. There is no place where it says it by a default, an anchor or several lines, or in
// a list.
func findWhen(t *schedule.Task, s *schedule.Schedule, files map[string]*editedFile) (whenPlace, bool) {
	origin, ok := whenOrigin(t)
	if !ok || origin.Section != "" && !strings.HasPrefix(origin.Section, "group ") || origin.Task == "" {
		return whenPlace{}, false
	}
	path := origin.Place.File
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(s.File), path)
	}
	if files[path] == nil {
		file, err := readFile(path)
		if err != nil {
			return whenPlace{}, false
		}
		files[path] = file
	}
	return files[path].find(origin)
}

// whenOrigin is where a task's cron or every was set.
func whenOrigin(t *schedule.Task) (document.Origin, bool) {
	for _, setting := range t.Settings() {
		if setting.IsSet && (setting.Key == "cron" || setting.Key == "every") && setting.From.Text != "" {
			return setting.From, true
		}
	}
	return document.Origin{}, false
}

func (f *editedFile) find(origin document.Origin) (p whenPlace, ok bool) {
	if origin.Place.Line < 1 || origin.Place.Line > len(f.lines) {
		return p, false
	}
	line := []rune(f.lines[origin.Place.Line-1])
	if origin.Place.Column < 1 || origin.Place.Column > len(line) {
		return p, false
	}
	before := len(string(line[:origin.Place.Column-1]))
	found := whenValue.FindStringSubmatchIndex(f.lines[origin.Place.Line-1][before:])
	if found == nil {
		return p, false
	}
	p = whenPlace{file: f, line: origin.Place.Line}
	text := f.lines[origin.Place.Line-1]
	p.key = text[before+found[2] : before+found[3]]
	for group := 2; group <= 4; group++ {
		if found[2*group] >= 0 {
			p.begin, p.end = before+found[2*group], before+found[2*group+1]
		}
	}
	p.value = strings.TrimRight(text[p.begin:p.end], " \t")
	p.end = p.begin + len(p.value)
	return p, p.value == strings.TrimSpace(origin.Text) && p.rewritable()
}

// plainMinute is a cron expression with a number for its minute, or a macro: H is spread already.
var plainMinute = lazy.Regexp{Expr: `^(\d+[ \t]|@)`}

// rewritable reports whether the value can be written with another minute.
func (p whenPlace) rewritable() bool {
	expression, ok := p.expression()
	minute, rest, _ := strings.Cut(expression, " ")
	n, err := strconv.Atoi(minute)
	if !ok || err != nil || p.key == "cron" && !plainMinute.MatchString(p.value) {
		return false
	}
	return p.rewrite(fmt.Sprintf("%d %s", (n+1)%60, rest)) != ""
}

// expression is the one that the value stands for.
func (p whenPlace) expression() (string, bool) {
	if p.key == "cron" {
		c, err := cron.Parse(p.value, "")
		return c.String(), err == nil
	}
	all, err := cron.ParseEvery(p.value)
	if err != nil || len(all) != 1 {
		return "", false
	}
	return all[0].String(), true
}

// rewrite returns a value that stands for an expression that differs from the present one in its minute; "" where there is none.
func (p whenPlace) rewrite(expression string) string {
	minute, _, _ := strings.Cut(expression, " ")
	if p.key == "cron" && strings.HasPrefix(p.value, "@") {
		return expression
	}
	if p.key == "cron" {
		return minute + strings.TrimLeft(p.value, "0123456789")
	}
	for _, value := range everyAt(p.value, minute) {
		if all, err := cron.ParseEvery(value); err == nil && len(all) == 1 && all[0].String() == expression {
			return value
		}
	}
	return ""
}

// The clauses of every that name a minute.
var (
	atClock  = lazy.Regexp{Expr: `(?i)\bat( +)(\d{1,2}):\d\d\b`}
	atMinute = lazy.Regexp{Expr: `(?i)\bat( +):\d\d\b`}
)

// everyAt returns what may be words for the same frequency at another minute.
func everyAt(words, minute string) []string {
	two := minute
	if len(two) == 1 {
		two = "0" + two
	}
	return []string{
		atClock.ReplaceAllString(words, "at$1$2:"+two), atMinute.ReplaceAllString(words, "at$1:"+two),
		words + " at :" + two, words + " at 00:" + two,
	}
}

// write writes the value for a move into the file, and reports whether it could.
func (p whenPlace) write(m forecast.Move) bool {
	value := p.rewrite(m.Cron)
	if value == "" {
		return false
	}
	line := p.file.lines[p.line-1]
	p.file.lines[p.line-1] = line[:p.begin] + value + line[p.end:]
	return true
}
