package crontab

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"sched/schedule/humanize"
)

// tidy turns parts around a command into keys of the task, as long as the rest is one simple
// command. It leaves a part as it is if it cannot be sure of it. It takes the parts off in the
// order in which the shell would run them. Each step reads the command anew, because the step
// before has changed it.
func tidy(t *Task) {
	if t.Entry.Input != nil || !PosixShell().MatchString(path.Base(t.Shell)) {
		return
	}
	changed := takeDir(t)
	if all, ok := words(t.Command); ok && isSimple(all) {
		changed = takeRedirection(t) || changed
		for takeWrapper(t) {
			changed = true
		}
	}
	t.Tidied = changed
}

var redirections = []string{">", ">>", ">&", "&>", "&>>"}

// isSimple reports whether the words are one command, perhaps with redirections at its end.
func isSimple(all []word) bool {
	for i, w := range all {
		if w.operator && !slices.Contains(redirections, w.text) {
			return false
		}
		if !w.operator && i == 0 && slices.Contains([]string{"{", "!", "if", "for", "while", "case"}, w.text) {
			return false
		}
	}
	return len(all) > 0
}

// takeDir turns "cd X && …" into dir.
func takeDir(t *Task) bool {
	all, ok := words(t.Command)
	if !ok || len(all) < 4 || all[0].text != "cd" || all[2].text != "&&" || !all[2].operator || all[1].operator {
		return false
	}
	dir, ok := t.absolutePath(all[1], t.Command)
	if !ok {
		return false
	}
	rest := all[3:]
	for _, w := range rest { // "cd X && a || b" would run b if cd fails, and "cd X && a & b" b beside it
		if w.operator && (w.text == "||" || w.text == "&" || w.text == ";") {
			return false
		}
	}
	t.Dir, t.Command = dir, t.Command[rest[0].start:]
	return true
}

// A redirection is the end of a command that sends stdout and stderr to one file.
type redirection struct {
	begin  int // the index of its first word
	file   word
	append bool
}

// takeRedirection turns ">> log 2>&1", "> log 2>&1" and "&> log" at the end into output. It leaves
// a redirection of stdout or stderr alone as it is.
func takeRedirection(t *Task) bool {
	all, ok := words(t.Command)
	if !ok {
		return false
	}
	r, ok := redirectionOf(all, path.Base(t.Shell))
	if !ok || r.begin == 0 || slices.ContainsFunc(all[:r.begin], func(w word) bool { return w.operator }) {
		return false
	}
	log, ok := t.absolutePath(r.file, t.Command)
	if !ok {
		return false
	}
	t.Command, t.Mail = t.Command[:all[r.begin-1].end], nil // nothing was left to mail
	if log != "/dev/null" {
		t.Output, t.Append = log, r.append
	}
	return true
}

// redirectionOf returns the redirection at the end of the words, as the shell of that name reads
// it.
func redirectionOf(all []word, shell string) (r redirection, ok bool) {
	n := len(all)
	if n < 3 {
		return r, false
	}
	switch both, file := all[n-2], all[n-1]; {
	case n >= 6 && isStderrToStdout(all[n-3:]) && isRedirection(all[n-5]): // ">> file 2>&1"
		r = redirection{n - 5, all[n-4], all[n-5].text == ">>"}
	case both.operator && (both.text == "&>" || both.text == "&>>"): // "&> file"
		if shell == "sh" || shell == "dash" { // there "&>" is "&" and ">"
			return r, false
		}
		r = redirection{n - 2, file, both.text == "&>>"}
	default:
		return r, false
	}
	switch before := all[r.begin-1]; { // the 1 of "1>> log", without a blank
	case before.end != all[r.begin].start: // it belongs to the command
	case before.text == "2":
		return r, false
	case before.text == "1":
		r.begin--
	}
	return r, true
}

// isStderrToStdout reports whether three words are "2>&1".
func isStderrToStdout(w []word) bool {
	return w[0].text == "2" && w[0].end == w[1].start && w[1].text == ">&" && w[2].text == "1"
}

// isRedirection reports whether a word sends stdout to the next one.
func isRedirection(w word) bool { return w.operator && (w.text == ">" || w.text == ">>") }

// takeWrapper turns flock, timeout or chronic at the beginning into keys.
func takeWrapper(t *Task) bool {
	all, ok := words(t.Command)
	if !ok || len(all) < 2 || !isSimple(all) || all[0].operator || !all[0].literal {
		return false
	}
	switch path.Base(all[0].text) {
	case "chronic":
		if strings.HasPrefix(all[1].text, "-") {
			return false
		}
		t.Command, t.MailFailures = t.Command[all[1].start:], true
		return true
	case "timeout":
		return takeTimeout(t, all)
	case "flock":
		return takeLock(t, all)
	}
	return false
}

var (
	timeoutValue = humanize.Pattern(`^[1-9][0-9]{0,6}[smhd]?$`)
	descriptor   = humanize.Pattern(`^[0-9]+$`)
)

// duration writes what timeout(1) takes for a duration as the schedule does.
func duration(text string) (string, bool) {
	if !timeoutValue().MatchString(text) {
		return "", false
	}
	if last := text[len(text)-1]; last >= '0' && last <= '9' {
		text += "s"
	}
	return text, true
}

// takeTimeout turns "timeout [-k 10] 30m …" into timeout and kill_after.
func takeTimeout(t *Task, all []word) bool {
	i, kill := 1, ""
	if len(all) > 4 && all[1].text == "-k" {
		var ok bool
		if kill, ok = duration(all[2].text); !ok {
			return false
		}
		i = 3
	}
	limit, ok := duration(all[i].text)
	if !ok || i+1 >= len(all) || t.Timeout != "" || strings.HasPrefix(all[i+1].text, "-") {
		return false
	}
	t.Timeout, t.KillAfter, t.Command = limit, kill, t.Command[all[i+1].start:]
	return true
}

// takeLock turns "flock -n FILE …" into without_overlapping. It turns "flock [-w SECONDS] FILE …",
// which waits, into without_overlapping: wait. It leaves a flock that waits inside of a timeout,
// because that timeout ends the wait, too.
func takeLock(t *Task, all []word) bool {
	lock, i, ok := lockFlags(all)
	if !ok || i+1 >= len(all) || t.WithoutOverlapping || !all[i].literal || lock.waits && t.Timeout != "" {
		return false
	}
	file, next := all[i].text, all[i+1]
	if descriptor().MatchString(file) {
		return false
	}
	switch {
	case next.text == "-c" || next.text == "--command":
		if i+3 != len(all) || !all[i+2].literal {
			return false
		}
		t.Command = all[i+2].text
	case strings.HasPrefix(next.text, "-"):
		return false
	default:
		t.Command = t.Command[next.start:]
	}
	t.WithoutOverlapping, t.Mutex, t.Waits, t.MaxWait = true, file, lock.waits, lock.atMost
	return true
}

// A lockWait says how flock waits for its lock.
type lockWait struct {
	waits  bool
	atMost string // "" for as long as it takes
}

// lockFlags reads the flags of flock, and returns the index of its file. ok is false if a flag says
// something else than how long flock waits, or contradicts another flag.
func lockFlags(all []word) (lock lockWait, file int, ok bool) {
	lock.waits = true
	for i := 1; i < len(all); i++ {
		flag, value, hasValue := strings.Cut(all[i].text, "=")
		if !strings.HasPrefix(flag, "-") {
			return lock, i, lock.waits || lock.atMost == ""
		}
		isShort := func(letters string) bool { return !hasValue && areShortFlags(flag, letters) }
		switch {
		case flag == "--exclusive" && !hasValue, isShort("xe"):
			continue
		case flag == "--nonblock", flag == "--nb", isShort("nxe"): // with an n: without it the case above took it
			lock.waits = false
			continue
		case !hasValue && strings.HasPrefix(flag, "-w") && flag != "-w":
			value = flag[2:]
		case flag != "--wait" && flag != "--timeout" && !(isShort("xew") && strings.HasSuffix(flag, "w")):
			return lock, i, false
		case !hasValue && i+1 == len(all):
			return lock, i, false
		case !hasValue:
			i++
			value = all[i].text
		}
		if lock.atMost, ok = waitSeconds(value); !ok {
			return lock, i, false
		}
	}
	return lock, len(all), false
}

// areShortFlags reports whether a word is a - and some of the letters, as -xn is.
func areShortFlags(word, letters string) bool {
	return len(word) > 1 && word[0] == '-' && strings.Trim(word[1:], letters) == ""
}

// waitSeconds writes the seconds that flock waits as the schedule does. It takes whole numbers from
// 1 to 9999999.
func waitSeconds(text string) (duration string, ok bool) {
	n, err := strconv.Atoi(text)
	switch {
	case err != nil || n <= 0 || n > 9999999:
		return "", false
	case n%3600 == 0:
		return fmt.Sprintf("%dh", n/3600), true
	case n%60 == 0:
		return fmt.Sprintf("%dm", n/60), true
	}
	return fmt.Sprintf("%ds", n), true
}

// shareMutexes gives tasks that took the same lock file one mutex, named after the file. Other
// tasks lose the name.
func shareMutexes(tasks []*Task) {
	users := map[string]int{}
	for _, t := range tasks {
		users[t.Mutex]++
	}
	for _, t := range tasks {
		switch {
		case users[t.Mutex] == 1:
			t.Mutex = ""
		case t.Mutex != "":
			t.Mutex = nameOf(strings.TrimSuffix(strings.TrimSuffix(t.Mutex, ".lock"), ".lck"))
		}
	}
}
