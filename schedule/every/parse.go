package every

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sched/schedule/cron"
	"sched/schedule/humanize"
)

// This file reads a whole text: a phrase, or what was meant by another form of it.

// Parse reads a frequency in words, such as "weekdays at 8:00". It returns several expressions
// if times of day differ in their minutes. Every error is an *cron.Error.
func Parse(text string) ([]cron.Expression, error) {
	f, err := readFrequency(text)
	if err != nil {
		return nil, err
	}
	if f.interval > 0 {
		return []cron.Expression{cron.Interval(f.interval, f.from)}, nil
	}
	var all []cron.Expression
	for _, text := range f.crons {
		c, err := cron.Parse(text, "")
		if err != nil {
			return nil, err
		}
		switch {
		case f.nths != nil:
			for _, nth := range f.nths {
				all = append(all, c.Workday(nth))
			}
		case f.days > 0:
			for _, start := range f.starts {
				all = append(all, c.Cycle(f.days, f.words, start))
			}
		default:
			all = append(all, c)
		}
	}
	return all, nil
}

// readFrequency reads a frequency in words, such as "weekdays at 8:00". Without an "at", days begin
// at 0:00 and hours at :00. Every error is an *cron.Error, and the phrase that its hint proposes
// first is valid.
func readFrequency(text string) (frequency, error) {
	f, err := readOnce(text)
	wrong, proposals := proposalsOf(strings.ToLower(text), err)
	switch {
	case wrong == nil:
		return f, err
	case proposesValid(wrong.Hint):
		return f, wrong
	}
	said := wrong.Hint
	wrong.Hint = everyForms
	for _, proposal := range proposals {
		mended := strings.Replace(said, proposal, withClocks(proposal), 1)
		if withClocks(proposal) != "" && proposesValid(mended) {
			wrong.Hint = mended
			break
		}
		_, next := readFrequency(proposal)
		if e, ok := errors.AsType[*cron.Error](next); ok && e.Hint != "" && e.Hint != everyForms {
			wrong.Hint = e.Hint // it is what we would say next
			break
		}
	}
	return f, wrong
}

// proposalsOf returns the error of readOnce, and the phrases that may be meant, the best first.
func proposalsOf(text string, err error) (wrong *cron.Error, proposals []string) {
	if unknown, ok := errors.AsType[*unknownError](err); ok {
		wrong = unknown.err
		proposals = []string{strings.Replace(text, unknown.word, unknown.meant, 1)}
	} else {
		wrong, _ = errors.AsType[*cron.Error](err)
	}
	if wrong == nil {
		return nil, nil
	}
	if found := proposedPhrase().FindStringSubmatch(wrong.Hint); found != nil {
		proposals = append(proposals, found[1])
	}
	isSame := func(proposal string) bool { return proposal == text }
	return wrong, slices.DeleteFunc(proposals, isSame)
}

// proposesValid reports whether the phrase that a hint proposes first is valid. A hint without a
// phrase is, too.
func proposesValid(hint string) bool {
	found := proposedPhrase().FindStringSubmatch(hint)
	if found == nil || standsAlone(found[1]) {
		return true
	}
	f, err := readPhrase(found[1])
	for _, expression := range f.crons {
		if _, cronErr := cron.Parse(expression, ""); cronErr != nil {
			return false
		}
	}
	return err == nil
}

// standsAlone reports whether a text is a word for no time.
func standsAlone(text string) bool { return text == "boot" || text == cron.ByHand }

// readOnce is readFrequency, but the phrase that a hint proposes may be wrong. The error may be an
// *unknownError.
func readOnce(text string) (frequency, error) {
	if span, found := strings.CutPrefix(strings.ToLower(strings.TrimSpace(text)), "@every"); found {
		const example = `20 seconds" or "5 minutes`
		return frequency{}, cron.NewError("%q is not a word for a frequency", "@every").
			SetHint(`did you mean "%s"?`, humanize.EveryOf(span, example))
	}
	if err := foreignFormError(text); err != nil {
		return frequency{}, err
	}
	f, err := readPhrase(text)
	if unknown, ok := errors.AsType[*unknownError](err); ok {
		whole := strings.Replace(strings.ToLower(text), unknown.word, unknown.meant, 1)
		if mended := withClocks(whole); mended != "" { // people can copy this hint as it is
			unknown.err.SetHint("did you mean %q?", mended)
		}
	}
	return f, err
}

// Meant returns the phrase that a text is, or that it leads to; "" if it is far from any phrase.
func Meant(text string) string {
	text = strings.TrimPrefix(strings.ToLower(strings.TrimSpace(text)), "every ")
	_, err := readFrequency(text)
	if err == nil || standsAlone(text) {
		return text
	}
	var wrong *cron.Error
	errors.As(err, &wrong)
	if found := proposedPhrase().FindStringSubmatch(wrong.Hint); found != nil && withClocks(found[1]) != "" {
		return found[1]
	}
	return withClocks(text)
}

var (
	proposedPhrase = humanize.Pattern(`^(?:did you mean|write) "([^":]+(?: [^"]*)?)"(?:\?|, (?:which|with|without|for) .*)?$`)
	calledMethod   = humanize.Pattern(`^(?:.*(?:->|::))?([A-Za-z]+)\((.*)\);?$`)
	fraction       = humanize.Pattern(`^(?:every )?(\d{1,4}\.\d{1,3}) ?([a-z]+)$`)
)

// foreignFormError returns the error about a text in another form than words: an expression of
// cron, a call of a method of Laravel, or a fraction. For any other text it returns nil.
func foreignFormError(text string) error {
	text = strings.TrimSpace(text)
	if isCron(text) {
		return cron.NewError("this is an expression of cron, and no words").SetHint("write it under cron: instead")
	}
	if found := calledMethod().FindStringSubmatch(text); found != nil {
		e := cron.NewError("this calls a method, and every has words")
		if meant := methodInWords(strings.ToLower(found[1]), found[2]); meant != "" {
			return e.SetHint("write %q, without brackets", meant)
		}
		return e.SetHint(`write words without brackets, such as "5 minutes", "day at 13:00" or "week on monday at 8:00"`)
	}
	if found := fraction().FindStringSubmatch(strings.ToLower(text)); found != nil {
		number, _ := strconv.ParseFloat(found[1], 64)
		if meant := wholeUnits(number, found[2]); meant != "" {
			return cron.NewError("%s is not a whole number", found[1]).SetHint("write %q", meant)
		}
	}
	return nil
}

// isCron reports whether a text is an expression or a macro of cron, even with a wrong number.
func isCron(text string) bool {
	fields := strings.Fields(text)
	if len(fields) == 1 && strings.HasPrefix(text, "@") {
		_, err := cron.Parse(text, "")
		return err == nil
	}
	if len(fields) != 5 && len(fields) != 6 {
		return false
	}
	_, err := cron.Parse(text, "")
	isField := func(field string) bool { return field[0] == '*' }
	return err == nil || slices.ContainsFunc(fields, isField)
}

// methodInWords returns what a method of Laravel means in words, such as "5 minutes" for
// everyFiveMinutes(). It returns "" for a method that it does not know.
func methodInWords(name, arguments string) string {
	if words := withClocks(laravelPhrase(name, arguments)); words != "" {
		return words
	}
	argument := strings.ReplaceAll(strings.Trim(strings.TrimSpace(arguments), `"'`), "'", "")
	words := cmp.Or(phraseFor(name), foreignWords()[name])
	switch {
	case argument == "" && words == "":
		words = name
	case argument != "" && strings.HasSuffix(name, "at"):
		words = cmp.Or(foreignWords()[strings.TrimSuffix(name, "at")], name) + " at " + argument
	case argument != "":
		return ""
	}
	return withClocks(words)
}

// Method returns what a method of Laravel means in words, as a key that has its arguments: "day at
// 2:30" for daily_at and 2:30. beside is what every: says in the same task, or "": the time of a
// week is no time of each day. Method returns "" if the words are not valid.
func Method(name, arguments, beside string) string {
	name = strings.ToLower(strings.ReplaceAll(name, "_", ""))
	isTime := name == "at" || name == "time"
	var tries []string
	switch {
	case isTime && beside != "":
		tries = []string{beside + " at " + arguments, "day at " + arguments}
	case name == "onunitactivesec":
		return Meant(arguments)
	case name == "time":
		tries = []string{"day at " + arguments}
	case name == "hour":
		tries = []string{"day at " + arguments + ":00"}
	case name == "minute":
		tries = []string{"hour at :" + arguments}
	case name == "seconds" || name == "minutes" || name == "hours":
		return Meant(arguments + " " + name)
	default:
		tries = []string{methodInWords(name, arguments), name + " at " + arguments, name + " on " + arguments}
	}
	for _, words := range tries {
		first, rest, _ := strings.Cut(words, " ")
		first = strings.ToLower(first)
		words = withClocks(strings.TrimSpace(cmp.Or(foreignWords()[first], first) + " " + rest))
		if words != "" {
			return words
		}
	}
	return ""
}

// wholeUnits writes 1.5 minutes as 90 seconds. It returns "" if no phrase says it.
func wholeUnits(number float64, unit string) string {
	inSeconds := map[byte]float64{'s': 1, 'm': 60, 'h': 3600, 'd': 86400}
	if unitWords()[unit] == "" && unitWords()[foreignWords()[unit]] == "" || strings.HasPrefix(unit, "mon") {
		return ""
	}
	seconds := number * inSeconds[unit[0]]
	for _, smaller := range []struct {
		name   string
		length float64
	}{{"hours", 3600}, {"minutes", 60}, {"seconds", 1}} {
		n := seconds / smaller.length
		if n != float64(int(n)) || n < 1 {
			continue
		}
		words := fmt.Sprintf("%d %s", int(n), smaller.name)
		for _, phrase := range []string{words, words + " from " + exampleDate + " 06:00"} {
			if _, err := readPhrase(phrase); err == nil {
				return phrase
			}
		}
	}
	return ""
}

// withClocks returns a phrase with its times as every has them: "day at 3:00" for "day at 3", and
// "hour at :15" for "hour at 15". It returns "" if that is no phrase either.
func withClocks(text string) string {
	if _, err := readPhrase(text); err == nil {
		return text
	}
	before, at, hasTimes := strings.Cut(text, " at ")
	if !hasTimes {
		return ""
	}
	asClock := func(text string) string { return cmp.Or(clock24(text), clockFor(text), text) }
	asMinute := func(text string) string { return ":" + strings.Repeat("0", max(0, 2-len(text))) + text }
	for _, write := range []func(string) string{asClock, asMinute} {
		var times []string
		for element := range strings.SplitSeq(strings.ReplaceAll(at, " and ", ","), ",") {
			times = append(times, write(strings.TrimSpace(element)))
		}
		whole := before + " at " + strings.Join(times, ", ")
		if _, err := readPhrase(whole); err == nil {
			return whole
		}
	}
	return ""
}
