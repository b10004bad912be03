package api

import (
	"cmp"
	"fmt"
	"time"

	"sched/schedule/actions"
	"sched/schedule/api/audit"
	"sched/schedule/outcome"
	"sched/schedule/text"
)

// change does something and writes it into the audit log. The line comes first: nothing is changed that is not in the log, also when
// this process is killed in between. That it failed is a second line with the same id.
func (r *request) change(action, target, reason string, do func() error) error {
	line := audit.Change{
		ID: outcome.NewID(), At: r.server.Now().UTC().Format(time.RFC3339), Who: r.who.Name, From: r.who.From,
		Action: action, Target: target, Reason: actions.Reason(reason),
	}
	if err := r.server.audit.Append(line); err != nil {
		return fmt.Errorf("nothing was done, since the audit log cannot be written: %w", err)
	}
	err := do()
	if err != nil {
		line.Error = text.Line(err.Error())
		if werr := r.server.audit.Append(line); werr != nil {
			r.server.Problem("the audit log cannot be written: %v", werr)
		}
	}
	return err
}

func getAudit(r *request) (any, error) {
	limit, lerr := r.limit(100, 1000)
	cursor, cerr := r.cursor(1)
	if err := cmp.Or(lerr, cerr); err != nil {
		return nil, err
	}
	below := ""
	if cursor != nil {
		below = cursor[0]
	}
	changes, more, err := r.server.audit.Read(below, limit)
	next := ""
	if more {
		next = cursorOf(changes[len(changes)-1].ID)
	}
	return pageOf(changes, next), err
}
