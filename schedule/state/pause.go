package state

import (
	"context"
	"database/sql"
	"time"

	"sched/schedule/humanize"
	"sched/schedule/state/sqltype"
)

// Pauses are the pauses of a schedule. For each task, by its name, and for Everything they are:
//
//   - the newest pause that began when it was made;
//   - every planned pause, until it was over for PauseKept.
type Pauses struct {
	store     store
	namespace string
}

// Everything stands for all tasks, in place of a task's name.
const Everything = "*"

// A Pause keeps tasks from starting. As JSON it is in the store that servers share. A pause that
// was not planned began when it was made, by the clock of Server. The zero Pause is no pause.
type Pause struct {
	Version int64     `json:"version"` // of two copies of a pause the larger version counts
	By      string    `json:"by"`
	Server  string    `json:"server"`
	Since   time.Time `json:"since"`
	Until   time.Time `json:"until,omitzero"` // zero: it has no end of its own
	Ended   time.Time `json:"ended,omitzero"` // when somebody ended it, or took it back; zero when nobody has
	Reason  string    `json:"reason,omitempty"`
	Planned bool      `json:"planned,omitempty"` // it was planned for Since, and has an end
	Stop    bool      `json:"stop,omitempty"`    // ticks stop the runs that had begun before it

	Everything bool `json:"-"` // it is for all tasks, and was found for one of them
	InFile     bool `json:"-"` // the schedule has it, so nobody can end it
}

// PauseKept is how long a planned pause is known after its end: as long as ticks look back.
const PauseKept = 32 * 24 * time.Hour

// exists reports whether the pause is not the zero Pause.
func (p Pause) exists() bool { return p.By != "" }

// Forgotten reports whether a planned pause was over for so long that nobody asks for it any more.
func (p Pause) Forgotten(now time.Time) bool {
	return p.Planned && p.Until.Before(now.Add(-PauseKept))
}

// Same reports whether both are versions of one pause of a task: of the pause that began when it
// was made, or of the pause that was planned for that time.
func (p Pause) Same(other Pause) bool {
	return p.Planned == other.Planned && (!p.Planned || p.Since.Equal(other.Since))
}

// ToCome reports whether the pause was planned for a time after at.
func (p Pause) ToCome(at time.Time) bool {
	return p.Planned && p.Ended.IsZero() && at.Before(p.Since)
}

// InEffect reports whether the pause keeps tasks from starting at that time, which is now or later:
// a pause that somebody has ended is over, whenever that was.
func (p Pause) InEffect(at time.Time) bool {
	return p.exists() && p.Ended.IsZero() && !p.ToCome(at) && (p.Until.IsZero() || at.Before(p.Until))
}

// Covers reports whether the pause was in effect at that time, which is now or earlier: a pause
// that somebody has ended covers the time before its end.
func (p Pause) Covers(at time.Time) bool { return p.Touches(at, at) }

// Touches reports whether the pause covers a time from from through until.
func (p Pause) Touches(from, until time.Time) bool {
	isOverBy := func(end time.Time) bool { return !end.IsZero() && !from.Before(end) }
	return p.exists() && !until.Before(p.Since) && !isOverBy(p.Ended) && !isOverBy(p.Until)
}

// Text returns in words who paused since when, or from when on, and why, in the zone. The words
// have the date when the day is not the day of near.
func (p Pause) Text(near time.Time, zone *time.Location) string {
	words := "paused by " + p.By
	if p.Server != "" {
		words += " on " + p.Server
	}
	begins := " since "
	if p.ToCome(near) {
		begins = " from "
	}
	words += begins + humanize.MinuteNearZone(p.Since, near, zone)
	if !p.Until.IsZero() {
		words += ", until " + p.End(near, zone)
	}
	if p.Reason != "" {
		words += ": " + p.Reason
	}
	return words
}

// End returns in words when the pause ends by itself, a short pause to the second. The pause must
// have an end (Until).
func (p Pause) End(near time.Time, zone *time.Location) string {
	if p.Until.Sub(p.Since) < 2*time.Minute {
		return humanize.SlotNearZone(p.Until, near, zone)
	}
	return humanize.MinuteNearZone(p.Until, near, zone)
}

// All returns the pauses, even those that are over, so that readers can say what was paused when.
func (p Pauses) All(ctx context.Context) (map[string][]Pause, error) {
	return ask(ctx, p.store, func(q querier) (map[string][]Pause, error) { return p.all(ctx, q) })
}

// keyPausesOf is the value with the namespace of the pauses that the database has.
const keyPausesOf = "pauses_of"

func (p Pauses) all(ctx context.Context, q querier) (map[string][]Pause, error) {
	all := map[string][]Pause{}
	return all, Each(ctx, q, func(rows *sql.Rows) error {
		var task string
		var pause Pause
		err := rows.Scan(&task, &pause.By, &pause.Server, &pause.Reason,
			sqltype.Time(&pause.Since), sqltype.Time(&pause.Until),
			sqltype.Time(&pause.Ended), &pause.Version, &pause.Planned, &pause.Stop)
		all[task] = append(all[task], pause)
		return err
	}, `SELECT task, by, server, reason, since, until, ended, version, planned > 0, stop FROM pause
		WHERE coalesce((SELECT value FROM meta WHERE key = ?), '') = ? ORDER BY task, planned`, keyPausesOf, p.namespace)
}

// Change sets the pauses that change returns for the pauses as they are (all), and forgets planned
// pauses that were over for PauseKept. Nobody else changes pauses meanwhile. The function may be
// called twice.
func (p Pauses) Change(
	ctx context.Context, now time.Time, change func(all map[string][]Pause) map[string][]Pause,
) error {
	return p.store.write(ctx, func(q querier) error {
		all, err := p.all(ctx, q)
		if err != nil {
			return err
		}
		changed := change(all)
		if len(all) == 0 && len(changed) > 0 { // the database may have pauses of another namespace
			q.do(ctx, "DELETE FROM pause")
			writeValue(ctx, q, keyPausesOf, p.namespace)
		}
		for task, pauses := range changed {
			for _, pause := range pauses {
				pause.put(ctx, q, task)
			}
		}
		q.do(ctx, "DELETE FROM pause WHERE planned > 0 AND until < ?", now.Add(-PauseKept).UnixMicro())
		return nil
	})
}

// put writes the pause of a task. It replaces the same pause (Same).
func (p Pause) put(ctx context.Context, q querier, task string) {
	planned := int64(0)
	if p.Planned {
		planned = p.Since.UnixMicro()
	}
	q.do(ctx, `INSERT OR REPLACE INTO pause
			(task, planned, by, server, reason, since, until, ended, version, stop)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		task, planned, p.By, p.Server, p.Reason, p.Since.UnixMicro(),
		sqltype.PackTime(p.Until), sqltype.PackTime(p.Ended), p.Version, p.Stop)
}
