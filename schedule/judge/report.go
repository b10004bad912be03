package judge

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"sched/schedule/humanize"
)

const (
	// MaxValues is how many values a run may report.
	MaxValues = 64
	// MaxReport is how many bytes of a report are read.
	MaxReport = 64 << 10
	// maxComplaints is how many lines of a report are complained of.
	maxComplaints = 3
)

// ReadReport reads a report: a line NAME=NUMBER for each value. Of two lines for a name the last
// counts. Lines that are empty or begin with # say nothing. Each other line that is no value
// changes nothing, and is complained of by its number. The command may have been killed in the
// middle of a line, so a last line without its end counts only if the command ended by itself.
func ReadReport(text string, endedByItself bool) (values map[string]float64, complaints []string) {
	values = map[string]float64{}
	lines := strings.Split(text, "\n")
	if !endedByItself || len(text) > MaxReport {
		lines = lines[:len(lines)-1]
	}
	wrong := 0
	for i, line := range lines {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, problem := readLine(line)
		if _, known := values[name]; problem == "" && !known && len(values) == MaxValues {
			problem = fmt.Sprintf("is value %d, and a run has at most %d", MaxValues+1, MaxValues)
		}
		if problem == "" {
			values[name] = value
			continue
		}
		if wrong++; wrong <= maxComplaints {
			complaints = append(complaints, fmt.Sprintf("line %d of the report %s", i+1, problem))
		}
	}
	if more := wrong - maxComplaints; more > 0 {
		complaints = append(complaints, fmt.Sprintf("%d more lines of the report do not count", more))
	}
	if len(text) > MaxReport {
		complaints = append(complaints, fmt.Sprintf("only %d KiB of the report were read", MaxReport>>10))
	}
	return values, complaints
}

// readLine reads a line of a report. It does not repeat the line: whatever a program writes there,
// as a secret by mistake, is not for the history.
func readLine(line string) (name string, value float64, problem string) {
	name, number, found := strings.Cut(line, "=")
	name, number = strings.TrimSpace(name), strings.TrimSpace(number)
	switch {
	case !found:
		return "", 0, "is not NAME=NUMBER"
	case !IsName(name):
		return "", 0, "has a name that is not of letters, digits and _"
	case name == Duration:
		return "", 0, "is " + Duration + ", which sched measures itself"
	case !decimal().MatchString(number):
		return "", 0, "has no number after " + name + "="
	}
	value, err := strconv.ParseFloat(number, 64)
	if err != nil || math.IsInf(value, 0) {
		return "", 0, "has a number after " + name + "= that is too large"
	}
	return name, value + 0, "" // and not -0
}

// decimal is a number as programs print it. Go's own reader takes more: 0x1p4, 1_000, NaN.
var decimal = humanize.Pattern(`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$`)

// IsName reports whether a value may have the name: as a variable of the environment, with at most
// 64 bytes.
func IsName(name string) bool { return len(name) <= 64 && nameForm().MatchString(name) }

var nameForm = humanize.Pattern(`^[A-Za-z_][A-Za-z0-9_]*$`)
