package serve

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"sched/schedule/control"
	"sched/schedule/humanize"
	"sched/schedule/state"
	"sched/schedule/view"
)

// A Reason is why something is done.
type Reason struct {
	Reason string `json:"reason,omitempty"`
}

// change does something for a reason that somebody typed, and writes it into the audit log.
func (r *Visit) change(action, target, reason string, do func() error) error {
	if err := checkReason(reason); err != nil {
		return err
	}
	return r.audit(action, target, reason, do)
}

// maxReason is the most characters of a reason.
const maxReason = 500

// checkReason refuses a reason that is too long, or that has a token in it. Every reason is
// checked, in a body or in a header, because everybody who may look sees it.
func checkReason(reason string) error {
	if len([]rune(reason)) > maxReason {
		return badRequest("", "the reason is longer than %d characters", maxReason)
	}
	return refuseToken(reason, "reason")
}

// refuseToken refuses a text with a token in it, because everybody who may look would see it. The
// message calls the text by its name.
func refuseToken(text, name string) error {
	if tokenPattern().MatchString(text) {
		return badRequest("leave it out, and revoke it if others have seen it", "a token is in the %s", name)
	}
	return nil
}

// audit does something and writes it into the audit log. The line comes first: even if this process
// is killed in between, nothing is changed that is not in the log. If do fails, the error is added
// to the line.
func (r *Visit) audit(action, target, reason string, do func() error) error {
	line := state.Change{
		At:     r.server.Now(),
		Who:    r.Who.Name,
		From:   r.Who.From,
		Action: action,
		Target: target,
		Reason: control.Reason(reason),
	}
	err := r.server.writeAudit(func(log state.Audit) (err error) {
		line.ID, err = log.Add(context.Background(), line)
		return err
	})
	if err != nil {
		return fmt.Errorf("nothing was done, because the audit log cannot be written: %w", err)
	}
	failure := do()
	if failure == nil {
		return nil
	}
	err = r.server.writeAudit(func(log state.Audit) error {
		return log.Failed(context.Background(), line.ID, humanize.Line(failure.Error()))
	})
	if err != nil {
		r.server.Problem("the audit log cannot be written: %v", err)
	}
	return failure
}

// writeAudit opens the log for a write.
func (s *Server) writeAudit(write func(state.Audit) error) error {
	db, err := state.Open(s.StateDir, state.Patience)
	if err != nil {
		return err
	}
	err = errors.Join(write(db.Audit()), db.Close())
	if path := db.SetAside(); path != "" {
		s.Problem("the database was damaged; it is now %s, and a new one was begun", path)
	}
	return err
}

func getAudit(r *Visit) (any, error) {
	changes, more, err := r.server.Changes(r.query.cursor.item, int(r.query.numbers["limit"]))
	var next cursor
	if more {
		next.item = changes[len(changes)-1].ID
	}
	return pageOf(changes, next), err
}

// Changes returns up to limit changes below an id ("" for all), newest first, and if more exist.
func (s *Server) Changes(below string, limit int) (changes []view.Change, more bool, err error) {
	var id int64
	if below != "" {
		if id, err = strconv.ParseInt(below, 10, 64); err != nil {
			return nil, false, badCursor()
		}
	}
	return view.ChangesBelow(context.Background(), s.StateDir, id, limit)
}
