package preflight

import (
	"path/filepath"
	"strings"

	"sched/schedule"
	"sched/schedule/humanize"
)

// This file finds folders that a line for a shell needs before anything of it can make them.

var (
	// firstFolder finds the folder of a line that begins with cd, and cannot go on without it.
	firstFolder = humanize.Pattern(`^\s*cd\s+(/[\w./-]+)\s*(?:&&|;|\n|$)`)

	// outputFile finds the file to which a command writes.
	outputFile = humanize.Pattern(`(?:^|[^&>])>>?\s*(/[\w./-]+)(?:\s|$)`)
)

// foldersOf returns the folders that the first command of a line enters, or in which it writes, if
// they stand there plainly. It returns none for a line that isSurelyRead does not know, and for a
// line with `||`, which may be about a folder that is missing.
func foldersOf(c schedule.Command) (folders []string) {
	line := c.Line
	isMentioned := strings.Contains(line, "cd") || strings.Contains(line, ">")
	if !isMentioned || strings.Contains(line, "||") ||
		len(c.Shell) == 0 || !isShell(c.Shell[0]) || !isSurelyRead(line) {
		return nil
	}
	plain := quoted().ReplaceAllString(line, "''")
	if match := firstFolder().FindStringSubmatch(plain); match != nil {
		folders = append(folders, filepath.Clean(match[1]))
	}
	first := plain
	if end := strings.IndexAny(strings.ReplaceAll(plain, ">&", "  "), ";&\n"); end >= 0 {
		first = plain[:end]
	}
	for _, match := range outputFile().FindAllStringSubmatch(first, -1) {
		folders = append(folders, filepath.Dir(match[1]))
	}
	return folders
}
