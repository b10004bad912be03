package dialect

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sched/schedule/humanize"
)

// parse reads an expression of fields by the rules of a dialect.
func parse(r *Reading, text string) error {
	text, err := cutZone(r, text)
	if err != nil {
		return err
	}
	if r.rules.read != nil {
		if text, err = r.rules.read(text); err != nil {
			return err
		}
	}
	if strings.HasPrefix(text, "@") {
		if text, err = readMacro(r, text); err != nil || r.every > 0 {
			return err
		}
	}
	return readFields(r, strings.Fields(text))
}

// cutZone cuts CRON_TZ=Europe/Berlin off the beginning.
func cutZone(r *Reading, text string) (string, error) {
	for _, prefix := range []string{"CRON_TZ=", "TZ="} {
		name, found := strings.CutPrefix(text, prefix)
		if !found {
			continue
		}
		if !slices.Contains(r.rules.zones, prefix) {
			return "", fmt.Errorf("%s is not known here", strings.TrimSuffix(prefix, "="))
		}
		name, rest, _ := strings.Cut(name, " ")
		return strings.TrimSpace(rest), setZone(r, name)
	}
	if r.rules.zoneLast {
		if words := strings.Fields(text); len(words) > 1 {
			if last := words[len(words)-1]; last[0] >= 'A' && last[0] <= 'Z' && setZone(r, last) == nil {
				return strings.Join(words[:len(words)-1], " "), nil
			}
		}
	}
	return text, nil
}

func setZone(r *Reading, name string) error {
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" || name == "" {
		return fmt.Errorf("there is no time zone %q", name)
	}
	r.Location, r.named = zone, true
	return nil
}

// AtStart says when a macro such as @reboot is due. A program that takes it gives Dialect.Parse an
// error for which IsAtStart is true.
const AtStart = "once when the program starts, and at no time of the clock"

// atStart is what such a macro stands for (rules.macros).
const atStart = "start"

var errAtStart = errors.New("it is due " + AtStart)

// IsAtStart reports whether an expression was not read because it is due when the program starts.
func IsAtStart(err error) bool { return errors.Is(err, errAtStart) }

// readMacro returns what a macro stands for.
func readMacro(r *Reading, text string) (string, error) {
	if span, found := strings.CutPrefix(text, "@every "); found && r.rules.every {
		return "", readEvery(r, span)
	}
	name := text
	if !r.rules.exact {
		name = strings.ToLower(text)
	}
	expanded, ok := r.rules.macros[name]
	switch {
	case !ok && len(r.rules.macros) == 0:
		return "", fmt.Errorf("it knows no macros such as %s", text)
	case !ok:
		return "", fmt.Errorf("it knows no macro %s", text)
	case expanded == "no":
		return "", fmt.Errorf("it knows no macro %s", text)
	case expanded == atStart:
		return "", errAtStart
	case expanded == "":
		return "", fmt.Errorf("%s is no time", text)
	}
	if len(r.rules.layouts[0]) == 6 {
		expanded = "0 " + expanded
	}
	return expanded, nil
}

// readEvery reads how long it is from one time to the next.
func readEvery(r *Reading, text string) error {
	span, err := time.ParseDuration(strings.TrimSpace(text))
	if err != nil {
		return fmt.Errorf("%q is no span of time", text)
	}
	r.every = max(span.Truncate(time.Second), time.Second)
	return nil
}

// readFields reads the fields, and joins them.
func readFields(r *Reading, words []string) error {
	rules := r.rules
	if most := len(rules.layouts[0]); rules.extra && len(words) > most {
		r.Notes = append(r.Notes, fmt.Sprintf("the program leaves out %q", strings.Join(words[most:], " ")))
		words = words[:most]
	}
	i := slices.IndexFunc(rules.layouts, func(layout string) bool { return len(layout) == len(words) })
	if i < 0 {
		return fmt.Errorf("it has %s, and must have %s", humanize.Count(len(words), "field"), counts(rules.layouts))
	}
	layout := rules.layouts[i]
	for i, word := range words {
		if rules.loose || rules.looseStar && word[0] == '*' {
			words[i] = beginningOf(word)
		}
		if rules.hash && strings.Contains(word, "H") {
			const note = "H is a number that the program makes of the job's name; here it is the first"
			r.Notes, r.hashed = append(r.Notes[:0], note), strings.Join(words, " ")
		}
	}
	read, written := strings.Join(words, " "), strings.Join(strings.Fields(r.Text), " ")
	if (rules.loose || rules.looseStar) && r.Text[0] != '@' && !strings.HasPrefix(written, read) {
		r.Notes = append(r.Notes, fmt.Sprintf("the program reads %q, and leaves out the rest", read))
	}
	var err error
	if r.times, err = readTimes(rules, layout, words); err != nil {
		return err
	}
	if err := checkQuestions(rules, &r.times); err != nil {
		return err
	}
	if rules.realDates && !r.times.hasDate() {
		return errors.New("no month of it has such a day")
	}
	r.clock = rules.fixed
	if r.times.starred() || rules.singles && !r.times.single() {
		r.clock = rules.stars
	}
	return nil
}

// checkQuestions checks which of the day fields are ?.
func checkQuestions(r *rules, t *times) error {
	day, weekday := t.of('d').text == "?", t.of('w').text == "?"
	if r.oneQuestion && day == weekday {
		return errors.New("one of day and weekday must be ?, and the other not")
	}
	return nil
}

func counts(layouts []string) string {
	var words []string
	for _, layout := range layouts {
		words = append(words, fmt.Sprint(len(layout)))
	}
	return strings.Join(words, " or ")
}

// beginningOf returns what Vixie cron reads of a field: after a number, a range or a step without a
// comma behind it, it leaves out the rest.
func beginningOf(word string) string {
	found := looseField().FindString(word)
	rest := word[len(found):]
	last := found[strings.LastIndexByte(found, ',')+1:]
	switch {
	case found == "", strings.HasPrefix(rest, ","), strings.HasPrefix(rest, "/") && !strings.Contains(last, "/"),
		strings.HasPrefix(rest, "-") && !strings.ContainsAny(last, "*-/"):
		return word // cron refuses it
	}
	return found
}
