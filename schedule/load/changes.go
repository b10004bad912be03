package load

import (
	"fmt"

	"sched/schedule/document"
	"sched/schedule/text"
)

// changes collect what a file says that used to mean something else: until 0.2 a key of a task took the place of an
// inherited one as a whole. A schedule may mean it as it is now, so it is told once for the file, and is no warning.
type changes struct {
	first document.Problem
	count int
}

// add notes that the current key, whose value is n, used to replace the inherited one, and what it does now.
func (c *changes) add(l *loader, n *node, now, instead string) {
	c.count++
	if c.count == 1 {
		c.first = document.Problem{
			Place: l.PlaceOf(n), Task: l.Task,
			Text: fmt.Sprintf("%s used to replace what is inherited; now %s", l.Key, now),
			Hint: "leave it if that is meant; else write " + instead,
		}
	}
}

// told returns what there is to say: nothing, or one note.
func (c *changes) told() []document.Problem {
	if c.count == 0 {
		return nil
	}
	note := c.first
	if c.count > 1 {
		note.Text += fmt.Sprintf("; the same goes for %s", text.Count(c.count-1, "other key"))
	}
	return []document.Problem{note}
}
