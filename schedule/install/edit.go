package install

import "strings"

// An Edit is a crontab before and after.
type Edit struct {
	Old, New string
	Diff     []string // the lines that change, with - before old ones and + before new ones
}

// IsNone reports whether nothing changes.
func (e Edit) IsNone() bool { return e.Old == e.New }

// Add returns the crontab with the line at its end, or in the place of an older line of the same
// schedule. It comments out the lines of these numbers, which count from 1.
func (l Line) Add(text string, replace map[int]bool) Edit {
	e := &editor{}
	present := false
	for i, line := range split(text) {
		switch {
		case strings.HasSuffix(line, l.mark()) && !present:
			present = true
			e.change(line, l.Cron())
		case strings.HasSuffix(line, l.mark()):
			e.drop(line)
		case replace[i+1]:
			e.change(line, l.replaced()+line)
		default:
			e.keep(line)
		}
	}
	if !present {
		e.add(l.Cron())
	}
	return e.edit(text)
}

// Remove returns the crontab without the line. Lines that it replaced are as they were.
func (l Line) Remove(text string) Edit {
	e := &editor{}
	for _, line := range split(text) {
		if was, replaced := strings.CutPrefix(line, l.replaced()); replaced {
			e.change(line, was)
		} else if strings.HasSuffix(line, l.mark()) {
			e.drop(line)
		} else {
			e.keep(line)
		}
	}
	return e.edit(text)
}

// IsIn reports whether a crontab has the line, as any version of sched writes it.
func (l Line) IsIn(text string) bool {
	for _, line := range split(text) {
		if strings.HasSuffix(line, l.mark()) {
			return true
		}
	}
	return false
}

// split returns the lines of a text without their line breaks. A last line without a line break
// does not matter: no cron takes such a crontab.
func split(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

type editor struct {
	strings.Builder
	diff []string
}

func (e *editor) keep(line string) { e.WriteString(line + "\n") }

func (e *editor) drop(line string) { e.diff = append(e.diff, "- "+line) }

func (e *editor) add(line string) {
	e.diff = append(e.diff, "+ "+line)
	e.keep(line)
}

func (e *editor) change(old, new string) {
	if old == new {
		e.keep(old)
		return
	}
	e.drop(old)
	e.add(new)
}

func (e *editor) edit(old string) Edit { return Edit{old, e.String(), e.diff} }
