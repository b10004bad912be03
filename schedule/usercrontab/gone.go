package usercrontab

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"strings"

	"sched/schedule/humanize"
)

// IDOf tells the lines of schedules apart. It is made from the path of the schedule alone.
func IDOf(file string) string {
	sum := sha256.Sum256([]byte(file))
	return hex.EncodeToString(sum[:4])
}

// Mark ends the line that `sched install` writes for a schedule. To the shell it is a comment.
func Mark(file string) string { return " # sched install " + IDOf(file) }

// markedCall finds the schedule that a line with a mark calls.
var markedCall = humanize.Pattern(`^[^#].* -c ('.*'|[^' ]+) # sched install [0-9a-f]{8}$`)

// Gone returns the paths of the schedules whose lines `sched install` wrote to a crontab, and that
// are not there any more: somebody moved or deleted them.
func Gone(text string) (files []string) {
	for line := range strings.Lines(text) {
		line = strings.ReplaceAll(strings.TrimSuffix(line, "\n"), `\%`, "%")
		match := markedCall().FindStringSubmatch(line)
		if match == nil {
			continue
		}
		file := match[1]
		if quoted, ok := strings.CutPrefix(file, "'"); ok {
			file = strings.ReplaceAll(strings.TrimSuffix(quoted, "'"), `'\''`, "'")
		}
		if !strings.HasSuffix(line, Mark(file)) { // somebody edited the line
			continue
		}
		if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
			files = append(files, file)
		}
	}
	return files
}
