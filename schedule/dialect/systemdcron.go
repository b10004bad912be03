package dialect

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sched/schedule/humanize"
)

// systemdCronMacro returns the calendar expression of @daily and its like.
func systemdCronMacro(name string) (calendar string, ok bool) {
	switch name {
	case "minutely", "hourly", "daily", "weekly", "monthly", "quarterly", "semi-annually", "yearly":
		return name, true
	case "midnight":
		return "daily", true
	case "biannually", "bi-annually", "semiannually":
		return "semi-annually", true
	case "anually", "annually":
		return "yearly", true
	}
	return "", false
}

// readSystemdCron writes an expression as the OnCalendar= that systemd-cron makes of it. Both day
// fields must match. A weekday field that it cannot read becomes each day, with a warning.
func readSystemdCron(text string) (string, error) {
	if name, isMacro := strings.CutPrefix(text, "@"); isMacro {
		calendar, ok := systemdCronMacro(strings.ToLower(name))
		days, err := strconv.Atoi(name)
		switch {
		case err == nil && days > 0 && days < 32:
			return fmt.Sprintf("*-*-1/%d 0:0:0", days), nil
		case strings.EqualFold(name, "reboot"):
			return "", errAtStart
		case !ok:
			return "", fmt.Errorf("it knows no macro %s", text)
		}
		return calendar, nil
	}
	words := strings.Fields(text)
	if len(words) != 5 {
		return "", fmt.Errorf("it has %s, and must have 5", humanize.Count(len(words), "field"))
	}
	var read [5]string
	for i, word := range words {
		k := kinds[i+1]
		values, ok := systemdCronValues(word, k)
		if k.letter != 'w' && (!ok || len(values) == 0) {
			return "", fmt.Errorf("%s %q has no value, so that there is no timer", k.name, word)
		}
		var parts []string
		for _, value := range values {
			part := strconv.Itoa(value)
			if k.letter == 'w' {
				part = strings.ToUpper(k.names[value][:1]) + k.names[value][1:3]
			}
			parts = append(parts, part)
		}
		if read[i] = strings.Join(parts, ","); word == "*" && k.letter != 'w' {
			read[i] = "*"
		}
	}
	calendar := fmt.Sprintf("*-%s-%s %s:%s:00", read[3], read[2], read[1], read[0])
	if words[4] == "*" {
		return calendar, nil
	}
	return strings.TrimSpace(read[4] + " " + calendar), nil
}

// systemdCronValues returns the values of a field in order. An element is the values from one place
// to another in the list of all values, so a range that runs backwards, or begins behind the last
// value, has none. ok is false if the field cannot be read.
func systemdCronValues(text string, k kind) (values []int, ok bool) {
	size := k.high - k.low + 1
	for element := range strings.SplitSeq(text, ",") {
		span, step := element, 1
		if body, stepText, hasStep := strings.Cut(element, "/"); hasStep {
			n, err := strconv.Atoi(stepText)
			if err != nil || n < 1 {
				return nil, false
			}
			span, step = body, min(n, size)
		}
		first, last := 0, size
		if span != "*" {
			low, high, isRange := strings.Cut(span, "-")
			if !isRange {
				high = low
			}
			lowValue, lowOK := systemdCronValue(low, k)
			highValue, highOK := systemdCronValue(high, k)
			if !lowOK || !highOK {
				return nil, false
			}
			first, last = lowValue-k.low, min(highValue-k.low+1, size)
			if first < 0 { // it counts from the end
				first += size
			}
		}
		for at := first; at < last; at += step {
			values = append(values, k.low+at)
		}
	}
	slices.Sort(values)
	return slices.Compact(values), true
}

// systemdCronValue reads a number or a name. It does not know October, so that November is the
// month 10 to it, and December 11.
func systemdCronValue(text string, k kind) (int, bool) {
	n, err := strconv.Atoi(text)
	short := strings.ToLower(text[:min(3, len(text))])
	at := slices.IndexFunc(k.names, func(name string) bool { return name[:3] == short })
	switch {
	case err == nil && k.letter == 'w':
		return n % 7, true
	case err == nil:
		return n, true
	case at < 0, k.letter == 'M' && short == "oct":
		return 0, false
	case k.letter == 'M' && at > 9:
		return at, true
	}
	return k.low + at, true
}
