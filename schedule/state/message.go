package state

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/state/sqltype"
)

// Messages is the outbox: each notification from the moment at which its hook fired until it was
// delivered.
//
// Put adds a message once. Only one process at a time tries to deliver it: the process that put it
// in, or a later process that takes it (Take). That process is the owner of the message until it
// says how the attempt ended.
//
// When the owner was killed the message is free again. So a message is delivered at least once: the
// other side may have accepted it just before the kill.
//
//	due  ── Put, Take ── Delivered ──► gone, or sent while at_most counts it
//	 ▲ └──────────────── Failed ── due again, or refused: a tick says so, and gives it up
//	                     GiveUp ── sent and failing, for a day or until a message of the hook arrives
//	held ── ReleaseHeld ──► due; a newer message of its hook counts it and removes it
//	 └───── Settle ── held and reported: it is only counted
type Messages struct {
	store  store
	owners Owners
}

// A Message is one notification to one target.
type Message struct {
	ID      string // of the run and the hook
	HookKey string // of the task and the hook: Limit counts by it, and a newer ping replaces by it
	Task    string
	Run     string
	Hook    string
	Target  json.RawMessage // where it goes; without secrets
	Body    json.RawMessage // what it says

	Created  time.Time
	To       string // Target for people, without secrets; Take leaves it out
	Replaces bool   // a ping: it replaces older ones of the hook, and no two are sent at once
	Limit    Limit  // at_most; zero for none

	// This package writes the fields below.
	Held      bool // by Limit
	HeldBack  int  // how many messages before it were held back
	HeldSince time.Time
	Attempts
}

// A Limit says how many messages a hook may send in a time.
type Limit struct {
	N   int
	Per time.Duration
}

// Attempts say how the attempts to deliver a message ended so far.
type Attempts struct {
	Tries        int
	LastTry      time.Time
	FailingSince time.Time // when the first one failed; zero when none did
	Error        string    // of the last one
	Refused      bool      // for good: there is no other attempt
	Reported     bool      // people have read of it, or it is over (Settle)
	Addresses    []int     // indexes of the addresses that the next attempt is for; empty for all
}

const messageColumns = `id, sender, task, run, hook, target, body, created, replaces, status,
	tries, tried, failing, error, reported, addresses, held_back, held_since, most, per`

// Put adds a message, unless it was added before. It fills in how much was held back before the
// message, and reports whether the owner has the message now and is to make the first attempt. If
// not,
//
//   - at_most holds the message back,
//   - or an older ping of the hook is being sent, or an older message to the target is tried again.
//     The process that sends it takes this one next.
func (m Messages) Put(ctx context.Context, o *Owner, message *Message) (ours bool, err error) {
	err = m.store.write(ctx, func(q querier) error {
		if err := m.freeDead(ctx, q); err != nil {
			return err
		}
		if err := message.put(ctx, q); err != nil {
			return err
		}
		ours, err = takeOwnership(ctx, q, o, message.ID)
		return err
	})
	return ours, err
}

// put adds a message, unless it was added before.
func (m *Message) put(ctx context.Context, q querier) error {
	var known bool
	err := q.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM message WHERE id = ?)", m.ID).Scan(&known)
	if err != nil || known {
		return err
	}
	status := "due"
	if m.Limit.N > 0 {
		full, err := isFull(ctx, q, m.HookKey, m.Limit, m.Created)
		if err != nil {
			return err
		}
		if full {
			status = "held"
		}
		if err := m.absorbHeld(ctx, q); err != nil {
			return err
		}
	}
	q.do(ctx, `INSERT INTO message (id, sender, task, run, hook,
			target, body, created, replaces, status,
			not_before, held_back, held_since, most, per)
		VALUES (?, ?, ?, ?, ?,
			?, ?, ?, ?, ?,
			0, ?, ?, ?, ?)`,
		m.ID, m.HookKey, m.Task, m.Run, m.Hook,
		string(m.Target), string(m.Body), m.Created.UnixMicro(), m.Replaces, status,
		m.HeldBack, sqltype.PackTime(m.HeldSince), m.Limit.N, m.Limit.Per.Microseconds())
	dropReplaced(ctx, q)
	return nil
}

// dropReplaced removes the pings that nobody sends at this moment and that a newer one replaces.
func dropReplaced(ctx context.Context, q querier) {
	q.do(ctx, `DELETE FROM message WHERE replaces = 1 AND status = 'due' AND owner IS NULL
		AND EXISTS (SELECT 1 FROM message AS newer
			WHERE newer.sender = message.sender AND newer.status = 'due' AND newer.rowid > message.rowid)`)
}

// absorbHeld removes the held message of the hook, and counts it, and the messages that it stands
// for, in m.
func (m *Message) absorbHeld(ctx context.Context, q querier) error {
	created, run, settled := time.Time{}, "", false
	err := q.QueryRowContext(ctx, `DELETE FROM message WHERE sender = ? AND status = 'held'
		RETURNING held_back, held_since, created, run, reported`, m.HookKey).
		Scan(&m.HeldBack, sqltype.Time(&m.HeldSince), sqltype.Time(&created), &run, &settled)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	if !settled {
		tell(ctx, q, run, outcome.Told{
			Hook: m.Hook, To: m.To, At: m.Created, Why: "held back by at_most; a later one counts it"})
	}
	m.HeldBack++
	if m.HeldSince.IsZero() {
		m.HeldSince = created
	}
	return nil
}

// isFull reports whether the hook may send no other message now. Ticks are not quite on time, so a
// little less than the time of the limit is enough: a task that fails at every full hour sends a
// message once an hour. A message that was sent in the future, when the clock was wrong, does not
// count.
func isFull(ctx context.Context, q querier, hookKey string, l Limit, now time.Time) (full bool, err error) {
	enough := l.Per - min(15*time.Second, l.Per/20)
	err = q.QueryRowContext(ctx, `SELECT count(*) >= ? FROM message
		WHERE sender = ? AND (status = 'due' OR status = 'sent' AND failing IS NULL AND sent > ? AND sent <= ?)`,
		l.N, hookKey, now.Add(-enough).UnixMicro(), now.UnixMicro()).Scan(&full)
	return full, err
}

// takeOwnership makes o the owner of a message if the message is due, nobody owns it, and it need
// not wait for an older message that is being sent.
func takeOwnership(ctx context.Context, q querier, o *Owner, id string) (ours bool, err error) {
	n, err := changed(ctx, q, `UPDATE message SET owner = ?1
		WHERE id = ?2 AND status <> 'held' AND status <> 'sent' AND owner IS NULL AND `+mayBeSent, o.ID, id)
	return n > 0, err
}

// mayBeSent is the condition that nobody sends an older ping of the hook, or tries an older message
// of the task and target again.
const mayBeSent = `NOT EXISTS (SELECT 1 FROM message AS other WHERE other.owner IS NOT NULL AND iif(message.replaces,
	other.sender = message.sender, other.task = message.task AND other.target = message.target
		AND other.tries > 0 AND other.created < message.created))`

// freeDead frees the messages whose owners were killed.
func (m Messages) freeDead(ctx context.Context, q querier) error {
	owners, err := Only[int64](ctx, q, "SELECT DISTINCT owner FROM message WHERE owner IS NOT NULL")
	if err != nil {
		return err
	}
	for _, owner := range owners {
		if m.owners.Alive(owner) {
			continue
		}
		q.do(ctx, "UPDATE message SET owner = NULL WHERE owner = ?", owner)
		dropReplaced(ctx, q)
	}
	return nil
}

// MaxWait is the longest time between two attempts. A message that would wait longer was put off
// while the clock was wrong, so it is due.
const MaxWait = time.Hour

// A DueQuery says which messages are asked for.
type DueQuery struct {
	Now     time.Time
	Refused bool    // also messages that were refused for good
	Line    Message // if it has an ID: only its task's messages to its target; of a ping, the newer pings of its hook
	Older   bool    // older than Line, whose attempts failed; false: newer than Line
	Waiting bool    // also messages whose next attempt comes later
}

// isDue is the condition of the messages that a DueQuery asks for. An older message that failed is
// left to whoever has a newer one, who tries the older one before it.
const isDue = `(status = 'due' AND (?5 OR not_before <= ?1 OR not_before > ?2) OR status = 'refused' AND ?3)
	AND (?4 = '' AND (tries = 0 OR NOT EXISTS (SELECT 1 FROM message AS newer WHERE owner IS NOT NULL AND replaces = 0
			AND newer.task = message.task AND newer.target = message.target AND newer.created > message.created))
		OR ?4 <> '' AND (replaces = 1 AND sender = ?6 AND NOT ?9 OR replaces = 0 AND task = ?7 AND target = ?8
			AND iif(?9, tries > 0 AND created < ?10, created > ?10)))`

// args returns the parameters of isDue.
func (d DueQuery) args() []any {
	return []any{d.Now.UnixMicro(), d.Now.Add(MaxWait).UnixMicro(), d.Refused, d.Line.ID, d.Waiting,
		d.Line.HookKey, d.Line.Task, string(d.Line.Target), d.Older, d.Line.Created.UnixMicro()}
}

// HasDue reports whether Take may have a message. It changes nothing.
func (m Messages) HasDue(ctx context.Context, d DueQuery) (bool, error) {
	return askOne[bool](ctx, m.store, "SELECT EXISTS (SELECT 1 FROM message WHERE "+isDue+")", d.args()...)
}

// Take returns the oldest message that is due and that nobody sends; nil when no message is due. It
// makes o the owner until Delivered, Failed or Drop.
func (m Messages) Take(ctx context.Context, o *Owner, d DueQuery) (taken *Message, err error) {
	err = m.store.write(ctx, func(q querier) error {
		if err := m.freeDead(ctx, q); err != nil {
			return err
		}
		q.do(ctx, "DELETE FROM message WHERE status = 'sent' AND sent <= ? - per", d.Now.UnixMicro())
		found, err := messagesOf(ctx, q, "SELECT "+messageColumns+" FROM message WHERE "+isDue+
			" AND owner IS NULL AND "+mayBeSent+" ORDER BY created, rowid LIMIT 1", d.args()...)
		if err != nil || len(found) == 0 {
			return err
		}
		taken = &found[0]
		_, err = takeOwnership(ctx, q, o, taken.ID)
		return err
	})
	return taken, err
}

// ReleaseHeld makes held messages due if their limits allow them now.
func (m Messages) ReleaseHeld(ctx context.Context, now time.Time) error {
	return m.store.write(ctx, func(q querier) error {
		held, err := messagesOf(ctx, q, "SELECT "+messageColumns+" FROM message WHERE status = 'held' AND reported = 0")
		if err != nil {
			return err
		}
		for _, message := range held {
			full, err := isFull(ctx, q, message.HookKey, message.Limit, now)
			if err != nil {
				return err
			}
			if !full {
				q.do(ctx, "UPDATE message SET status = 'due' WHERE id = ?", message.ID)
			}
		}
		return nil
	})
}

// Settle says that it is over what a held message of the hook tells. The time and the target of
// told say when, and where the message was to go.
func (m Messages) Settle(ctx context.Context, hookKey string, told outcome.Told) error {
	told.Why = "held back by at_most until a run succeeded; the next failure counts it"
	return m.store.write(ctx, func(q querier) error {
		runs, err := Only[string](ctx, q, `UPDATE message SET reported = 1
			WHERE sender = ? AND status = 'held' AND reported = 0 RETURNING run`, hookKey)
		for _, run := range runs {
			tell(ctx, q, run, told)
		}
		return err
	})
}

// Delivered says that the other side has accepted a message that o has. The run gets a note of
// that, with to: the target for people, without secrets. If to is empty, the run gets none.
func (m Messages) Delivered(ctx context.Context, o *Owner, id, to string, at time.Time) error {
	told := outcome.Told{To: to, At: at}
	return m.change(ctx, told, `UPDATE message SET status = 'sent', owner = NULL, sent = ?3, body = '', target = '',
			failing = NULL
		WHERE id = ?1 AND owner = ?2`, id, o.ID, at.UnixMicro())
}

// GiveUp says that nobody will deliver a message that o has. As for Delivered, to is for people.
func (m Messages) GiveUp(ctx context.Context, o *Owner, id, to string, a Attempts) error {
	told := outcome.Told{To: to, At: a.LastTry,
		Why: fmt.Sprintf(outcome.GivenUp+" after %s: %s", humanize.Count(a.Tries, "attempt"), a.Error)}
	return m.change(ctx, told, `UPDATE message SET status = 'sent', owner = NULL, sent = ?3, body = '', target = '',
			tries = ?4, failing = ?5, error = ?6, most = max(most, 1), per = max(per, ?7)
		WHERE id = ?1 AND owner = ?2`, id, o.ID, a.LastTry.UnixMicro(), a.Tries, a.FailingSince.UnixMicro(), a.Error,
		(24 * time.Hour).Microseconds())
}

// Failed says how an attempt of o ended, and when the next one comes.
func (m Messages) Failed(ctx context.Context, o *Owner, id string, a Attempts, next time.Time) error {
	return m.change(ctx, outcome.Told{}, `UPDATE message SET owner = NULL, not_before = ?3, tries = ?4, tried = ?5,
			failing = ?6, error = ?7, reported = ?8, addresses = ?9, status = iif(?10, 'refused', 'due')
		WHERE id = ?1 AND owner = ?2`,
		id, o.ID, next.UnixMicro(), a.Tries, sqltype.PackTime(a.LastTry), sqltype.PackTime(a.FailingSince),
		a.Error, a.Reported, sqltype.PackJSON(a.Addresses), a.Refused)
}

// Drop removes a message that o has, and that nobody needs any more.
func (m Messages) Drop(ctx context.Context, o *Owner, id string) error {
	return m.change(ctx, outcome.Told{}, "DELETE FROM message WHERE id = ?1 AND owner = ?2", id, o.ID)
}

// change runs a change of one message: its id is ?1, its owner ?2, and rest are the parameters from
// ?3 on. The error is ErrGone if the message is not the owner's any more. change also removes
//
//   - messages of the hook that were given up, once the message was delivered;
//   - the message, if it was sent and no limit counts it;
//   - and pings that a newer ping replaces.
func (m Messages) change(ctx context.Context, told outcome.Told, text, id string, owner int64, rest ...any) error {
	return m.store.write(ctx, func(q querier) error {
		n, err := changed(ctx, q, text, append([]any{id, owner}, rest...)...)
		if err == nil && n == 0 {
			err = ErrGone
		}
		if err != nil {
			return err
		}
		if told.To != "" {
			var run string
			err := q.QueryRowContext(ctx, "SELECT run, hook FROM message WHERE id = ?", id).Scan(&run, &told.Hook)
			if err != nil {
				return err
			}
			tell(ctx, q, run, told)
		}
		q.do(ctx, `DELETE FROM message WHERE failing IS NOT NULL AND status = 'sent' AND sender IN
			(SELECT sender FROM message WHERE id = ? AND status = 'sent' AND failing IS NULL)`, id)
		q.do(ctx, "DELETE FROM message WHERE id = ? AND status = 'sent' AND most = 0", id)
		dropReplaced(ctx, q)
		return nil
	})
}

// tell notes in the run of a message what became of the message.
func tell(ctx context.Context, q querier, run string, told outcome.Told) {
	q.do(ctx, "UPDATE run SET told = json_insert(coalesce(told, '[]'), '$[#]', json(?)) WHERE id = ?",
		sqltype.PackJSON(told), run)
}

// Withdraw removes a message that is not true any more, unless it was sent, or is being sent.
func (m Messages) Withdraw(ctx context.Context, id string) error {
	return execute(ctx, m.store, "DELETE FROM message WHERE id = ? AND status <> 'sent' AND owner IS NULL", id)
}

// OfRun returns the messages of a run that wait, and those that at_most holds back, without their
// bodies. An empty run stands for all runs.
func (m Messages) OfRun(ctx context.Context, run string) ([]Message, error) {
	return ask(ctx, m.store, func(q querier) ([]Message, error) { // the ids begin with the run
		return messagesOf(ctx, q, "SELECT "+strings.Replace(messageColumns, "body", "''", 1)+` FROM message
			WHERE (?1 = '' OR id > ?1 AND id < ?1 || '!' AND run = ?1) AND status <> 'sent'`, run)
	})
}

// GaveUp reports whether a message of the hook was given up, and no later one arrived or waits.
func (m Messages) GaveUp(ctx context.Context, hookKey string) (bool, error) {
	return askOne[bool](ctx, m.store, `SELECT count(status IN ('due', 'held') OR NULL) = 0
		AND count(status = 'refused' OR failing IS NOT NULL OR NULL) > 0 FROM message WHERE sender = ?`, hookKey)
}

// Waiting returns how many messages were not delivered yet.
func (m Messages) Waiting(ctx context.Context) (int, error) {
	return askOne[int](ctx, m.store, "SELECT count(*) FROM message WHERE status <> 'sent'")
}

// Undelivered sums up messages with a failed attempt.
type Undelivered struct {
	Count int
	Since time.Time // the first attempt for the oldest
	Task  string    // of the message that failed first
	Error string    // of its last attempt
}

// Undelivered returns the messages with a failed attempt that wait, and those that were given up,
// or will be when a tick has said so.
func (m Messages) Undelivered(ctx context.Context) (waiting, givenUp Undelivered, err error) {
	err = m.store.read(ctx, func(q querier) error {
		sum := func(u *Undelivered, condition string) error {
			// The row with the minimum has task and error (sqlite.org/lang_select.html#bareagg).
			return q.QueryRowContext(ctx, "SELECT count(*), min(failing), task, error FROM message WHERE "+condition).
				Scan(&u.Count, sqltype.Time(&u.Since), sqltype.OrZero(&u.Task), sqltype.OrZero(&u.Error))
		}
		return errors.Join(sum(&waiting, "status = 'due' AND tries > 0"),
			sum(&givenUp, "status = 'refused' OR status = 'sent' AND failing IS NOT NULL"))
	})
	return waiting, givenUp, err
}

func messagesOf(ctx context.Context, q querier, query string, args ...any) ([]Message, error) {
	return listed(ctx, q, func(rows *sql.Rows) (m Message, err error) {
		var target, body, status string
		err = rows.Scan(&m.ID, &m.HookKey, &m.Task, &m.Run, &m.Hook, &target, &body,
			sqltype.Time(&m.Created), &m.Replaces, &status,
			&m.Tries, sqltype.Time(&m.LastTry), sqltype.Time(&m.FailingSince), &m.Error, &m.Reported,
			sqltype.JSON(&m.Addresses),
			&m.HeldBack, sqltype.Time(&m.HeldSince), &m.Limit.N, sqltype.Duration(&m.Limit.Per))
		m.Target, m.Body = json.RawMessage(target), json.RawMessage(body)
		m.Held, m.Refused = status == "held", status == "refused"
		return m, err
	}, query, args...)
}
