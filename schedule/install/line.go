package install

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// A Line is the one line of a schedule, which starts a tick each minute.
type Line struct {
	Program string // sched, absolute
	File    string // the schedule, absolute
}

// ID tells the lines of schedules apart. It is made from the path of the schedule alone.
func (l Line) ID() string {
	sum := sha256.Sum256([]byte(l.File))
	return hex.EncodeToString(sum[:4])
}

// mark ends the line in a crontab. To the shell it is a comment.
func (l Line) mark() string { return " # sched install " + l.ID() }

func (l Line) replaced() string { return "# replaced by sched " + l.ID() + ": " }

// Command is the command that starts a tick, for a POSIX shell.
func (l Line) Command() string {
	return shellWord(l.Program) + " run -q -c " + shellWord(l.File)
}

// Cron is the line in the crontab of a user.
func (l Line) Cron() string { return "* * * * * " + percents(l.Command()) + l.mark() }

// percents escapes each % for a crontab, because a plain % ends the command there.
func percents(text string) string { return strings.ReplaceAll(text, "%", `\%`) }

func shellWord(text string) string {
	if text != "" && strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+,:@%=") == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
