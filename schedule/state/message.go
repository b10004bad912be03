package state

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"
)

// Messages is the outbox: notifications from the moment at which their hook fired until they were
// delivered.
//
// A message is put in with the end of its hook (Owned.HookEnded) or of its run (Owned.End), in the
// same transaction: so it is put in exactly once. One process at a time makes an attempt to deliver
// it (Take). It is delivered at least once: when that process is killed after the other side has
// accepted the message, the next process sends it again.
//
//	due ── Take ── Delivered ──► gone, or sent while at_most counts it
//	 ▲ └── Failed ── due again
//	held: at_most holds it back; the newest of its sender is kept, with the number of those before it
type Messages struct{ store store }

// Messages returns the outbox of the database.
func (db *DB) Messages() Messages { return Messages{db} }

// A Message is one notification to one target.
type Message struct {
	ID     string // of the run and the hook
	Sender string // of the task and the hook: what Limit counts, and what a newer message replaces
	Task   string
	Run    string
	Hook   string
	Target json.RawMessage // where to; no secrets
	Body   json.RawMessage // what

	Created   time.Time
	Replaces  bool  // older messages of the sender are of no use any more, as those of a ping are
	Limit     Limit // at_most; zero for none
	NotBefore time.Time

	// What this package writes.
	Held      bool // by Limit
	HeldBack  int  // how many messages before it were held back
	HeldSince time.Time
	Attempts
}

// A Limit says how many messages a sender may send in a time.
type Limit struct {
	N   int
	Per time.Duration
}

// Attempts say how the attempts to deliver a message ended so far.
type Attempts struct {
	Tries     int
	Tried     time.Time // the last one
	Failing   time.Time // since when they fail; zero when none did
	Error     string    // of the last one
	Reported  bool      // people have read of it
	Addresses []int     // indexes of those for which the next attempt is; empty for all
}

const messageColumns = `id, sender, task, run, hook, target, body, created, status, not_before, tries, tried, failing, error, reported,
	addresses, held_back, held_since, most, per`

// put adds a message, unless it was added before.
func (m Message) put(ctx context.Context, q querier) error {
	var known bool
	if err := q.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM message WHERE id = ?)", m.ID).Scan(&known); err != nil || known {
		return err
	}
	if m.Replaces {
		if _, err := q.ExecContext(ctx, "DELETE FROM message WHERE sender = ? AND status = 'due' AND owner IS NULL", m.Sender); err != nil {
			return err
		}
	}
	status := "due"
	if m.Limit.N > 0 {
		full, err := limited(ctx, q, m.Sender, m.Limit, m.Created)
		if err != nil {
			return err
		}
		if full {
			status = "held"
		}
		if err := m.takeOver(ctx, q); err != nil {
			return err
		}
	}
	_, err := q.ExecContext(ctx, `INSERT INTO message (id, sender, task, run, hook, target, body, created, status, not_before, held_back, held_since, most, per)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		m.ID, m.Sender, m.Task, m.Run, m.Hook, string(m.Target), string(m.Body), m.Created.UnixMicro(), status, max(m.NotBefore.UnixMicro(), 0),
		m.HeldBack, packTime(m.HeldSince), m.Limit.N, m.Limit.Per.Microseconds())
	return err
}

// takeOver removes the message of the sender that is held, and has m say how many were held back
// before it.
func (m *Message) takeOver(ctx context.Context, q querier) error {
	var created int64
	var since sql.NullInt64
	err := q.QueryRowContext(ctx, "DELETE FROM message WHERE sender = ? AND status = 'held' RETURNING held_back, held_since, created", m.Sender).
		Scan(&m.HeldBack, &since, &created)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	m.HeldBack++
	if m.HeldSince = unpackTime(since); m.HeldSince.IsZero() {
		m.HeldSince = time.UnixMicro(created).UTC()
	}
	return nil
}

// limited reports whether the sender may send no other message now. Ticks are not quite on time, so
// a little less than the time of the limit is enough: a task that fails at every full hour sends a
// message once an hour. What was sent in the future, when the clock was wrong, does not count.
func limited(ctx context.Context, q querier, sender string, l Limit, now time.Time) (full bool, err error) {
	enough := l.Per - min(15*time.Second, l.Per/20)
	err = q.QueryRowContext(ctx, `SELECT count(*) >= ? FROM message
		WHERE sender = ? AND (status = 'due' OR status = 'sent' AND sent > ? AND sent <= ?)`,
		l.N, sender, now.Add(-enough).UnixMicro(), now.UnixMicro()).Scan(&full)
	return full, err
}

// Take returns messages that are due, at most n, the oldest first, and keeps other owners from them
// until Delivered, Failed or Drop. Before that it lets go held messages for which the limit of
// their sender has room again. Of one sender it returns one message at a time, so that its messages
// arrive in their order.
func (m Messages) Take(ctx context.Context, o Owned, now time.Time, n int) (taken []Message, err error) {
	err = m.store.write(ctx, func(q querier) error {
		if err := letGo(ctx, q, now); err != nil {
			return err
		}
		taken, err = messagesOf(ctx, q, `SELECT `+messageColumns+` FROM message AS one WHERE status = 'due' AND not_before <= ?1 AND owner IS NULL
			AND NOT EXISTS (SELECT 1 FROM message AS other WHERE other.sender = one.sender AND other.status = 'due'
				AND (other.owner IS NOT NULL OR (other.created, other.id) < (one.created, one.id)))
			ORDER BY created, id LIMIT ?2`, now.UnixMicro(), n)
		if err != nil {
			return err
		}
		for _, message := range taken {
			if _, err := q.ExecContext(ctx, "UPDATE message SET owner = ? WHERE id = ?", o.owner, message.ID); err != nil {
				return err
			}
		}
		return nil
	})
	return taken, err
}

// letGo makes held messages due that their limits allow now.
func letGo(ctx context.Context, q querier, now time.Time) error {
	held, err := messagesOf(ctx, q, "SELECT "+messageColumns+" FROM message WHERE status = 'held'")
	if err != nil {
		return err
	}
	for _, message := range held {
		full, err := limited(ctx, q, message.Sender, message.Limit, now)
		if err != nil {
			return err
		}
		if !full {
			if _, err := q.ExecContext(ctx, "UPDATE message SET status = 'due' WHERE id = ?", message.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// Delivered says that the other side has accepted a message that o has taken.
func (m Messages) Delivered(ctx context.Context, o Owned, id string, at time.Time) error {
	return m.change(ctx, `UPDATE message SET status = 'sent', owner = NULL, sent = ?3, body = '', target = '' WHERE id = ?1 AND owner = ?2`,
		id, o.owner, at.UnixMicro())
}

// Failed says how an attempt ended, and when the next one comes.
func (m Messages) Failed(ctx context.Context, o Owned, id string, a Attempts, next time.Time) error {
	addresses, err := packJSON(a.Addresses, len(a.Addresses) == 0)
	if err != nil {
		return err
	}
	return m.change(ctx, `UPDATE message SET owner = NULL, not_before = ?3, tries = ?4, tried = ?5, failing = coalesce(failing, ?6), error = ?7,
		reported = ?8, addresses = ?9 WHERE id = ?1 AND owner = ?2`,
		id, o.owner, next.UnixMicro(), a.Tries, packTime(a.Tried), packTime(a.Failing), a.Error, a.Reported, addresses)
}

// Drop removes a message that o has taken, and that nobody will deliver.
func (m Messages) Drop(ctx context.Context, o Owned, id string) error {
	return m.change(ctx, "DELETE FROM message WHERE id = ?1 AND owner = ?2", id, o.owner)
}

// change runs a change of one message, and removes sent messages that no limit counts any more.
func (m Messages) change(ctx context.Context, text string, args ...any) error {
	return m.store.write(ctx, func(q querier) error {
		did, err := q.ExecContext(ctx, text, args...)
		if err != nil {
			return err
		}
		if n, err := did.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, ErrGone)
		}
		_, err = q.ExecContext(ctx, "DELETE FROM message WHERE id = ? AND status = 'sent' AND most = 0", args[0])
		return err
	})
}

// Waiting returns the messages that were not delivered yet, the oldest first.
func (m Messages) Waiting(ctx context.Context) (waiting []Message, err error) {
	err = m.store.read(ctx, func(q querier) error {
		waiting, err = messagesOf(ctx, q, "SELECT "+messageColumns+" FROM message WHERE status <> 'sent' ORDER BY created, id")
		return err
	})
	return waiting, err
}

func messagesOf(ctx context.Context, q querier, query string, args ...any) (all []Message, err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var m Message
		var target, body, status string
		var created, notBefore, per int64
		var tried, failing, heldSince sql.NullInt64
		var addresses sql.NullString
		err := rows.Scan(&m.ID, &m.Sender, &m.Task, &m.Run, &m.Hook, &target, &body, &created, &status, &notBefore, &m.Tries, &tried, &failing,
			&m.Error, &m.Reported, &addresses, &m.HeldBack, &heldSince, &m.Limit.N, &per)
		if err == nil {
			err = unpackJSON(addresses, &m.Addresses)
		}
		if err != nil {
			return nil, err
		}
		m.Target, m.Body, m.Held = json.RawMessage(target), json.RawMessage(body), status == "held"
		m.Created, m.NotBefore, m.Limit.Per = time.UnixMicro(created).UTC(), time.UnixMicro(notBefore).UTC(), micros(per)
		m.Tried, m.Failing, m.HeldSince = unpackTime(tried), unpackTime(failing), unpackTime(heldSince)
		all = append(all, m)
	}
	return all, rows.Err()
}
