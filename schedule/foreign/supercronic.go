package foreign

import (
	"strings"

	"sched/schedule/dialect"
	"sched/schedule/humanize"
)

var (
	setting    = humanize.Pattern(`^\s*([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*?)\s*$`)
	leadFields = humanize.Pattern(`^\s*(\S+)`)
)

// readSupercronic reads a crontab as supercronic does: its variables count for all lines, and the
// times are as many fields as can be read.
func readSupercronic(text string) (jobs []*Job, err error) {
	supercronic, _ := dialect.Find("supercronic")
	set := map[string]string{}
	zone := ""
	for number, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		if found := setting().FindStringSubmatch(line); found != nil {
			value := strings.Trim(found[2], `"'`)
			if found[1] == "CRON_TZ" || found[1] == "TZ" && zone == "" {
				zone = value
			}
			set[found[1]] = value
			continue
		}
		j := &Job{Line: number + 1}
		for _, count := range []int{7, 6, 5, 1} {
			times, command, ok := cutFields(line, count)
			if _, err := supercronic.Parse(times, nil); ok && err == nil {
				j.Expressions, j.Command = []string{times}, command
				break
			}
		}
		words := strings.Fields(j.Command)
		if len(words) == 0 {
			j.Name = "line"
			j.refuse("supercronic reads no times and command in %q", line)
		} else {
			j.Name = words[0][strings.LastIndexByte(words[0], '/')+1:]
			j.setPlain("without_overlapping", "true")
		}
		jobs = append(jobs, j)
	}
	for _, j := range jobs {
		j.Zone = zone
		j.setVariables(set)
	}
	return jobs, nil
}

// cutFields cuts the first fields off a line.
func cutFields(line string, count int) (fields, rest string, ok bool) {
	rest = line
	for range count {
		at := leadFields().FindStringIndex(rest)
		if at == nil {
			return "", "", false
		}
		rest = rest[at[1]:]
	}
	return strings.TrimSpace(line[:len(line)-len(rest)]), strings.TrimSpace(rest), strings.TrimSpace(rest) != ""
}
