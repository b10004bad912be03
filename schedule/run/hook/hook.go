// Package hook fires the hooks of a run: it runs their commands, puts their notifications and spans
// into the outbox, and asks for the runs that they trigger. Each hook fires once, whatever is
// killed.
package hook

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/humanize"
	"sched/schedule/notify"
	"sched/schedule/outcome"
	"sched/schedule/output"
	"sched/schedule/process"
	"sched/schedule/redact"
	"sched/schedule/run/holding"
	"sched/schedule/run/ownrow"
	"sched/schedule/run/triggered"
	"sched/schedule/run/variables"
	"sched/schedule/state"
)

// Hooks fire the hooks of a run in this process, and remember what of them is still to be
// delivered.
type Hooks struct {
	from       *holding.Process // of the run
	task       *schedule.Task
	row        *ownrow.Row
	unreaped   *process.Unreaped
	marks      marks
	deliveries []*notify.Delivery // that this process is to send, and has not begun to
	lastFailed *bool              // whether the run before this one failed; nil until failedBefore has looked
	lastTold   []outcome.Told     // what became of the notifications of that run
	fired      []keyedHooks       // the hooks that fire after the run: set by RunAfter
	started    startedHook        // by a killed supervisor: set by GoOn
}

// A startedHook is the last command among the before-hooks that a killed supervisor had started.
type startedHook struct {
	index int // the first is 1; 0 for none
	mark  state.Hook
}

// New returns the hooks of the run of a row in this process, which has started none of them yet.
func New(from *holding.Process, task *schedule.Task, row *ownrow.Row, unreaped *process.Unreaped) *Hooks {
	return &Hooks{from: from, task: task, row: row, unreaped: unreaped, marks: marks{from.DB, row}}
}

// GoOn makes this process go on with the before-hooks of a killed supervisor: it finds the hook
// that was started last among the children of this process, and writes down the process of that.
func (h *Hooks) GoOn() {
	for _, mark := range h.marks.all() {
		if mark.Ended.IsZero() && mark.PID == 0 { // the supervisor was killed before it could write that down
			mark.PID = process.ChildGroup(h.row.ID, 1) // hooks before the command have the number of the first attempt
			h.marks.markForked(mark.Name, mark.PID)
		}
		for i, hook := range h.task.Hooks.Before {
			if hook.Notify == nil && hookName("before", i) == mark.Name && i+1 > h.started.index {
				h.started = startedHook{i + 1, mark}
			}
		}
	}
}

// Before runs the before-hooks up to the first that fails; its note is the reason why the run
// failed. Notifications are sent meanwhile, and fail nothing. If a killed supervisor has started
// hooks, it goes on after those.
func (h *Hooks) Before(terminate context.Context) (note string) {
	defer h.Send()
	h.queueStartPings()
	for i, hook := range h.task.Hooks.Before {
		name := hookName("before", i)
		if hook.Notify != nil {
			h.queueMessage(name, name, notify.Start, *hook.Notify, h.row.SoFar())
			h.Send()
			continue
		}
		note, over := h.awaitStarted(terminate, i+1)
		if !over {
			note = h.runOne(terminate, name, hook, variables.OfRun(h.from.DB, h.row.Row, 1))
		}
		if note != "" {
			return note
		}
	}
	return ""
}

// FiresBefore reports whether a hook of the task comes before the first attempt: a command, or a
// notification.
func FiresBefore(task *schedule.Task) bool {
	return len(task.Hooks.Before) > 0 || slices.ContainsFunc(task.Hooks.After, isStartPing)
}

// Send begins an attempt for each delivery that this process put into the outbox, and returns at
// once.
func (h *Hooks) Send() {
	h.from.Sender.Send(h.deliveries...)
	h.deliveries = nil
}

// queueStartPings puts the pings of the key after into the outbox that are to be sent at the start,
// too.
func (h *Hooks) queueStartPings() {
	for i, hook := range h.task.Hooks.After {
		if isStartPing(hook) {
			name := hookName("after", i)
			h.queueMessage(name, startMark(name), notify.Start, *hook.Notify, h.row.SoFar())
		}
	}
}

func isStartPing(hook schedule.Hook) bool {
	return hook.Notify != nil && slices.Contains(hook.Notify.On, schedule.OnStart)
}

// hookName names a hook in marks, notes and messages, as in `after 2`.
func hookName(key string, i int) string { return fmt.Sprintf("%s %d", key, i+1) }

// queueMessage puts one notification into the outbox, if it is for a run that ended with the
// result, and was not put there before. The mark in the database is the name of the hook, or
// another one for the start of a run.
func (h *Hooks) queueMessage(hook, mark string, event notify.Event, n schedule.Notification, result state.Row) {
	if h.marks.hasEnded(mark) {
		return
	}
	if n.On != nil && event == notify.Finish {
		event = notify.Success
		if result.Outcome.Failure() {
			event = notify.Failure
		}
	}
	if !h.isWanted(hook, n, event, result) {
		if n.On != nil {
			h.from.Sender.Withdraw(h.messageID(startMark(hook))) // the message about the start is outdated
		}
		return
	}
	d := &notify.Delivery{
		Run:     h.row.ID,
		Hook:    hook,
		Folder:  h.task.Folder,
		To:      n,
		Message: h.message(h.messageID(mark), event, result),
	}
	if n.Sentry == "" && (n.Ping == "" || n.On != nil) {
		d.Output, d.Message.Cut = output.Tail(result.Output, tailBytes)
	}
	h.put(d, mark)
}

// isWanted reports whether a notification is for the event. A change counts until it was told.
func (h *Hooks) isWanted(hook string, n schedule.Notification, event notify.Event, result state.Row) bool {
	if n.On != nil && !slices.Contains(n.On, schedule.Moment(event)) {
		return false
	}
	switch n.When {
	case schedule.Changed:
		return result.Outcome.Failure() != h.failedBefore() || h.gaveUp(hook)
	case schedule.Printed:
		return output.HasBytes(result.Output)
	}
	return true
}

// failedBefore reports whether the run before this one failed, and the task has not recovered on
// another server since. It looks once.
func (h *Hooks) failedBefore() bool {
	if h.lastFailed == nil {
		last, ok, _ := h.from.DB.Runs().Previous(context.Background(), h.row.Task, h.row.ID)
		h.lastTold = last.Told
		failed := ok && last.Outcome.Failure()
		if failed && h.task.OneServer {
			fired, _ := h.from.DB.Hooks(context.Background(), last.ID)
			isRecovery := func(f state.Hook) bool { return strings.HasPrefix(f.Name, "on_recovery ") }
			failed = !slices.ContainsFunc(fired, isRecovery)
		}
		h.lastFailed = &failed
	}
	return *h.lastFailed
}

// gaveUp reports whether the newest message of a hook was given up.
func (h *Hooks) gaveUp(hook string) bool {
	isLast := func(t outcome.Told) bool { return t.Hook == hook && strings.HasPrefix(t.Why, outcome.GivenUp) }
	gaveUp, _ := h.from.DB.Messages().GaveUp(context.Background(), notify.HookKey(h.task.Name, hook))
	return gaveUp || slices.ContainsFunc(h.lastTold, isLast)
}

// messageID returns the id of a message of the run: the same when a finish begins again after a
// kill.
func (h *Hooks) messageID(mark string) string { return h.row.ID + " " + mark }

// startMark is the mark of a hook that tells of the start of a run, and not of its end.
func startMark(hook string) string { return hook + " start" }

// message returns what is sent about an event of the run, whose times are shown in the schedule's
// zone.
func (h *Hooks) message(id string, event notify.Event, result state.Row) notify.Message {
	m := notify.NewMessage(event, h.task, result, holding.ZoneOf(h.task))
	m.ID, m.Test = id, h.row.Test
	return m
}

// tailBytes is more than a message carries, so that it can begin with a whole character or line.
const tailBytes = notify.OutputLimit + 4

// put puts a delivery into the outbox.
func (h *Hooks) put(d *notify.Delivery, mark string) {
	if h.from.Sender.Put(d) {
		h.deliveries = append(h.deliveries, d)
	}
	h.marks.markEnded(mark, "") // after a kill before this, the message is put in again, and may be sent again
}

// awaitStarted returns what came of a before-hook that the killed supervisor had started, and waits
// for its end. It reports false for a hook that has yet to run.
func (h *Hooks) awaitStarted(ctx context.Context, index int) (note string, over bool) {
	mark := h.started.mark
	switch {
	case index < h.started.index: // it succeeded, or the next one would not have been started
		return "", true
	case index > h.started.index:
		return "", false
	case !mark.Ended.IsZero():
		return mark.Note, true
	case mark.PID == 0:
		return "", false
	}
	name, pid := mark.Name, mark.PID
	age := process.Age(pid)
	if p, ok := process.Adopt(pid); ok {
		note = awaitHook(ctx, name, p, age)
	} else {
		note = fmt.Sprintf(outcome.HookNote+"%s: nobody saw how it ended, because its supervisor is gone", name)
	}
	h.marks.markEnded(name, note)
	return note, true
}

// awaitHook waits for a hook that was started the age ago, under its deadline.
func awaitHook(ctx context.Context, name string, p *process.Process, age time.Duration) (note string) {
	survivors, inTime := p.EndWithin(ctx, max(0, timeout-age), killAfter)
	switch {
	case !inTime && ctx.Err() != nil:
		return fmt.Sprintf(outcome.HookNote+"%s: stopped (%v)", name, context.Cause(ctx))
	case !inTime:
		notes := []string{fmt.Sprintf(outcome.HookNote+"%s: no end after %s", name, timeout)}
		return strings.Join(append(notes, process.LeftBehind(survivors)...), "; ")
	case p.Refusal != "":
		return fmt.Sprintf(outcome.HookNote+"%s: cannot start: %s", name, p.Refusal)
	case p.ExitCode() != 0:
		return fmt.Sprintf(outcome.HookNote+"%s: exit code %d", name, p.ExitCode())
	}
	return ""
}

// runOne runs one hook in its own process group under its own deadline, and notes in the database
// when it begins and when it has ended. The note says how it failed, for the row; it is empty for a
// hook that succeeded, and for a hook that was fired before.
func (h *Hooks) runOne(ctx context.Context, name string, hook schedule.Hook, variables []string) (note string) {
	if !h.marks.begin(name) {
		return ""
	}
	defer func() { h.marks.markEnded(name, note) }()
	isBefore := strings.HasPrefix(name, "before ")
	spec := process.Spec{
		Task:       h.task,
		Command:    hook.Run,
		Dir:        h.hookDir(),
		CallerEnv:  h.from.Environ,
		Variables:  variables,
		KeepZombie: isBefore && h.row.Background,
		Lenient:    !isBefore, // the hooks after a run start even if the command could not
	}
	captured, err := output.Append(output.HooksPath(output.Path(h.from.Dir, h.row.Row)))
	if err == nil { // without that file the hook runs nevertheless
		limit := h.task.Output.Limit
		defer h.cutOutput(captured, limit)
		defer output.TrimEachSecond(captured, limit)()
		spec.Output = captured
	}
	p, err := spec.Start()
	if err != nil {
		return fmt.Sprintf(outcome.HookNote+"%s: cannot start: %v", name, err)
	}
	h.marks.markForked(name, p.PID)
	if spec.KeepZombie {
		h.unreaped.Add(p)
	}
	return awaitHook(ctx, name, p, 0)
}

// hookDir returns the folder of the task. If that folder does not exist, it is the schedule's
// folder: an on_failure hook must be able to report just that.
func (h *Hooks) hookDir() string {
	if info, err := os.Stat(h.task.Dir); err == nil && info.IsDir() {
		return h.task.Dir
	}
	return h.task.Folder
}

// cutOutput closes the output of the hooks, and cuts it to its limit. A line in it says what was
// cut; if that fails, the output stays whole.
func (h *Hooks) cutOutput(captured *os.File, limit int64) {
	captured.Close()
	if _, err := redact.Cut(captured.Name(), limit, nil); err != nil {
		h.row.Complain("the output of the hooks of %s is not cut to output.limit: %v", h.row.Task, err)
	}
}

// RunAfter runs the commands of the hooks that fire after a run that ended with the result, and
// returns the notes about hooks that failed.
func (h *Hooks) RunAfter(result state.Row) (notes []string) {
	h.fired = h.after(result)
	for _, f := range h.fired {
		notes = append(notes, h.runCommands(f, result)...)
	}
	return append(notes, h.maskOutput()...)
}

// maskOutput masks what the hooks of the run have printed.
func (h *Hooks) maskOutput() []string {
	return h.Secrets().Keep(output.HooksPath(output.Path(h.from.Dir, h.row.Row)), "")
}

// Secrets returns where the secrets of the run come from.
func (h *Hooks) Secrets() redact.Source {
	return redact.Source{Task: h.task, Environ: h.from.Environ, Row: &h.row.Row, Found: h.row.Found}
}

// QueueAfter puts the notifications and the spans after the run into the outbox, and asks for the
// runs that its hooks trigger. The result gets the names of these runs.
func (h *Hooks) QueueAfter(result *state.Row) {
	if result.Outcome == outcome.Succeeded {
		h.settleFailures()
	}
	for _, f := range h.fired {
		h.queueMessages(f, *result)
		h.trigger(f, result)
	}
	h.QueueAttemptSpan(result, result.Ended)
	h.queueRunSpan(*result)
}

// settleFailures has at_most only count the failures that it holds back: after a success they would
// call people for what is over.
func (h *Hooks) settleFailures() {
	for i, hook := range h.task.Hooks.OnFailure {
		if hook.Notify != nil && hook.Notify.AtMost.N > 0 && h.failedBefore() {
			name, to := hookName("on_failure", i), notify.Target(*hook.Notify).String()
			told := outcome.Told{Hook: name, To: to, At: clock.Now()}
			key := notify.HookKey(h.task.Name, name)
			_ = h.from.DB.Messages().Settle(context.Background(), key, told) // else it is sent later
		}
	}
}

// Overdue fires the on_overdue hooks for the incident in the row.
func (h *Hooks) Overdue(row state.Row) (notes []string) {
	fired := keyedHooks{key: "on_overdue", hooks: h.task.Hooks.OnOverdue}
	notes = append(h.runCommands(fired, row), h.maskOutput()...)
	h.queueMessages(fired, row)
	h.Send()
	return notes
}

// Recovered fires the on_recovery hooks of a run that failed, for a success on another server.
func (h *Hooks) Recovered(success state.Row) (notes []string) {
	h.lastFailed = new(true) // the success comes after the run of the row
	h.settleFailures()
	fired := h.counted("on_recovery", h.task.Hooks.OnRecovery, 1)
	notes = h.runCommands(fired, success)
	h.queueMessages(fired, success)
	h.Send()
	h.Once(RecoveryTold, func() {})
	return notes
}

// RecoveryTold is the mark of a run that failed whose recovery on another server was told.
const RecoveryTold = "recovery"

// Once does something about the run unless a process has done it before.
func (h *Hooks) Once(name string, do func()) {
	if h.marks.begin(name) {
		do()
		h.marks.markEnded(name, "")
	}
}

// runCommands runs the commands among the hooks of one key, one after another, and returns the
// notes about hooks that failed. Hooks that have ended before are left out.
func (h *Hooks) runCommands(f keyedHooks, result state.Row) (notes []string) {
	for i, hook := range f.due() {
		name := hookName(f.key, i)
		if !hook.IsCommand() {
			continue
		}
		variables := append(variables.OfRun(h.from.DB, h.row.Row, result.Attempt.Number), variables.OfResult(result)...)
		if note := h.runOne(context.Background(), name, hook, variables); note != "" {
			notes = append(notes, note)
		}
	}
	return notes
}

// A keyedHooks is a key of hooks, such as on_failure, with what the task has for it.
type keyedHooks struct {
	key   string
	hooks []schedule.Hook

	failures int // in a row: up to this run, or before it for on_recovery; counted if a hook asks for it
}

// due yields the hooks that fire, with their places: not those that are to fire after more failures
// in a row.
func (k keyedHooks) due() iter.Seq2[int, schedule.Hook] {
	return func(yield func(int, schedule.Hook) bool) {
		for i, hook := range k.hooks {
			if hook.After <= k.failures && !yield(i, hook) {
				return
			}
		}
	}
}

// after returns the hooks that fire after a run that ended with the result, in their order.
func (h *Hooks) after(result state.Row) (all []keyedHooks) {
	keys := h.task.Hooks
	switch {
	case result.Outcome == outcome.Succeeded:
		all = append(all, keyedHooks{key: "on_success", hooks: keys.OnSuccess})
		if result.Warned() {
			all = append(all, keyedHooks{key: "on_warning", hooks: keys.OnWarning})
		}
		if len(keys.OnRecovery) > 0 && h.failedBefore() {
			all = append(all, h.counted("on_recovery", keys.OnRecovery, 0))
		}
	case result.Kind == outcome.Elsewhere: // the slot has run, or runs
		return nil
	case result.Outcome == outcome.Skipped: // it waited for its turn, and did not get it
		return []keyedHooks{{key: "on_skip", hooks: keys.OnSkip}}
	case result.Outcome.Failure():
		all = append(all, h.counted("on_failure", keys.OnFailure, 1))
	}
	return append(all, keyedHooks{key: "after", hooks: keys.After})
}

// counted returns the hooks of a key with the number of failures in a row: the failures of this run
// (0 or 1), and the ones before it if a hook asks for them.
func (h *Hooks) counted(key string, list []schedule.Hook, failures int) keyedHooks {
	limit := 0
	for _, hook := range list {
		limit = max(limit, hook.After)
	}
	if limit > 0 {
		before, _ := h.from.DB.Runs().FailuresBefore(context.Background(), h.row.Task, h.row.ID, time.Time{}, limit)
		failures += before
	}
	return keyedHooks{key, list, failures}
}

// queueMessages puts the notifications of a key into the outbox, except notifications that were put
// there before. They are sent by send, or by a later tick.
func (h *Hooks) queueMessages(f keyedHooks, result state.Row) {
	for i, hook := range f.due() {
		if hook.Notify != nil {
			name := hookName(f.key, i)
			h.queueMessage(name, name, events[f.key], *hook.Notify, result)
		}
	}
}

// events has the event of a message for each key of hooks.
var events = map[string]notify.Event{
	"before": notify.Start, "after": notify.Finish, "on_success": notify.Success, "on_warning": notify.Warning,
	"on_failure": notify.Failure, "on_recovery": notify.Recovery, "on_skip": notify.Skip, "on_overdue": notify.Overdue,
}

// QueueAttemptSpan puts the span of the last attempt into the outbox, if the task is traced. The
// result has the outcome of the attempt.
func (h *Hooks) QueueAttemptSpan(result *state.Row, ended time.Time) {
	attempt := h.row.Attempt
	if attempt.At.IsZero() {
		return
	}
	traced := *result
	traced.Started, traced.Ended = attempt.At, ended
	h.queueSpan(hookName("otlp attempt", attempt.Number-1), traced, func(m *notify.Message) {
		m.Event, m.PID, m.Program = notify.AttemptEnd, attempt.PID, filepath.Base(h.task.Command.Argv()[0])
	})
}

func (h *Hooks) queueSpan(mark string, result state.Row, complete func(*notify.Message)) {
	task := h.task
	if task.OTLP == "" || result.Started.IsZero() || h.marks.hasEnded(mark) {
		return
	}
	m := h.message(h.messageID(mark), notify.Finish, result)
	complete(&m)
	h.put(&notify.Delivery{
		Run:     m.Run,
		Hook:    mark,
		Folder:  task.Folder,
		To:      schedule.Notification{OTLP: task.OTLP},
		Message: m,
	}, mark)
}

// queueRunSpan puts the span of the run into the outbox, if the task is traced.
func (h *Hooks) queueRunSpan(result state.Row) {
	h.queueSpan("otlp", result, func(m *notify.Message) {
		if result.Cause != nil {
			m.Cause = result.Cause.Run
		}
	})
}

// trigger asks for the runs that the hooks of a key trigger, each once, and notes these runs in the
// result. A run that is to start no chain asks for no run. StartTriggered, or the next tick, starts
// the runs.
func (h *Hooks) trigger(f keyedHooks, result *state.Row) {
	for i, hook := range f.due() {
		if hook.Trigger == "" || result.NoChain {
			continue
		}
		name := hookName(f.key, i)
		r := h.request(name, hook.Trigger, *result)
		if !h.marks.hasEnded(name) {
			if err := h.ask(r); err != nil {
				result.Notes = append(result.Notes, outcome.HookNote+name+": "+r.Task+" is not triggered: "+err.Error())
				continue
			}
			h.marks.markEnded(name, "") // after a kill before this, asking again changes nothing
		}
		result.Triggered = append(result.Triggered, outcome.Triggered{Task: r.Task, Run: r.ID})
	}
}

// request returns the waiting run of the task that a hook asks for.
func (h *Hooks) request(hook, task string, result state.Row) state.Row {
	origin := fmt.Sprintf("triggered by run %s of %s, which %s",
		humanize.ShortRun(result.ID), result.Task, result.Outcome.Verb())
	return state.Row{
		ID:     outcome.TriggeredID(result.ID, hook, result.Ended.Truncate(time.Microsecond)),
		Task:   task,
		Mutex:  task,
		Slot:   result.Ended.UTC(),
		Origin: origin,
		Cause:  &outcome.Cause{Task: result.Task, Run: result.ID, Outcome: result.Outcome},
	}
}

func (h *Hooks) ask(r state.Row) error {
	if h.from.DB.InMemory() {
		return errors.New("the state folder cannot be written")
	}
	_, err := h.from.DB.Runs().Request(context.Background(), r)
	return err
}

// StartTriggered starts the runs for which the hooks have asked. The next tick starts them instead
// if this process is to end, or if the state folder cannot be written.
func (h *Hooks) StartTriggered(result state.Row) {
	if len(result.Triggered) == 0 || h.from.Terminate.Err() != nil || h.from.DB.InMemory() {
		return
	}
	_ = triggered.Start(h.from.Dir, h.task.Sender.File, h.from.Environ) // after an error the next tick does
}
