package web

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/serve"
	"sched/schedule/state"
	"sched/schedule/view"
)

// A runPage is all that is known of a run.
type runPage struct {
	*page
	Run            view.Run
	Row            state.Row // of Run
	State          string    // of Run
	HasEnded       bool
	Earlier, Later *state.Row // the runs of the task before and after it; nil for none
	At             *moment    // what it waits for; nil if it does not wait
	Waits          string     // for what, and until when, after the word waiting; "" if it does not wait here
	HeldBy         string     // who has what it waits for; "" if that is not known
	Lasts          string     // how long its attempt has taken; "" if no command runs
	Progress       *progress
	ActsThere      string // why it cannot be changed here; "" if it can
	Buttons        []button
	Log            *runLog
	OtherRun       *otherRun // the run of another server for its slot; nil for none
}

// A progress says how much of its usual time a run has had.
type progress struct{ Done, Usual, Left, Longer time.Duration }

func readRun(p *page) (made runPage, err error) {
	ctx := p.request.Context()
	r, err := view.FindRun(ctx, p.View, p.request.PathValue("id"))
	if err != nil {
		return made, err
	}
	p.title = r.Task + " " + humanize.ShortRun(r.Record.Run)
	made = runPage{page: p, Run: r, Row: r.Row, State: string(r.State), HasEnded: r.State == view.RunEnded}
	all, err := p.View.Records(ctx)
	if err != nil {
		return made, err
	}
	defer all.Close()
	if made.Earlier, err = found(all.Previous(ctx, r.Task, r.Record.Run)); err != nil {
		return made, err
	}
	if made.Later, err = found(all.Following(ctx, r.Task, r.Record.Run)); err != nil {
		return made, err
	}
	usual, err := all.Usual(ctx, []string{r.Task})
	if err != nil {
		return made, err
	}
	if r.Since != nil {
		began := r.Since.Time
		made.Lasts = humanize.Age(began, p.now)
		if u := usual[r.Task]; r.State == view.RunRunning && u.Runs > 0 {
			took := max(0, p.now.Sub(began))
			made.Progress = &progress{min(took, u.Duration), u.Duration, u.Duration - took, max(0, took-u.Duration)}
		}
	}
	if r.At != nil {
		made.At = new(p.Away(view.TickAt(r.At.Time), r.Task))
	}
	if r.Moved != "" {
		made.Run.Notes = slices.Concat([]string{r.Moved}, r.Notes)
	}
	made.readWait(all)
	command := "stop"
	if made.HasEnded {
		command = "retry"
		if other, ok := view.RanElsewhere(ctx, p.View, []state.Row{r.Row})[r.Row.ID]; ok {
			made.OtherRun = p.otherRun(other)
		}
	}
	if err := r.Elsewhere(command); err != nil {
		made.ActsThere = err.Error()
	}
	made.Buttons = runButtons(p, r)
	made.Log, err = newRunLog(p, r)
	return made, err
}

// readWait reads for what the run waits.
func (p *runPage) readWait(all *view.Records) {
	waiting := view.WaitingRuns(p.View, all.Live, p.View.Pauses)[p.Run.Task]
	i := slices.IndexFunc(waiting, func(w view.Waiting) bool { return w.Run == p.Run.Record.Run })
	if i < 0 {
		return
	}
	p.Waits = p.WaitsText(&waiting[i])
	t := p.tasks[p.Run.Task]
	if waiting[i].LockSince == nil || t == nil {
		return
	}
	holder, pool := view.HoldersOf(p.request.Context(), p.View, all.Live, t)
	if held := view.HeldText(holder, p.zoneOf(t.Name)); held != "" {
		p.HeldBy = "Its mutex is held " + held + "."
	} else if full := pool.Full(p.zoneOf(t.Name)); full != "" {
		p.HeldBy = "Now " + full + "."
	}
}

func found(r state.Row, ok bool, err error) (*state.Row, error) {
	if !ok {
		return nil, err
	}
	return &r, err
}

// Params are the params of the run, as NAME=value.
func (p runPage) Params() []string { return schedule.Pairs(p.Run.Params) }

// LacksProgram reports whether the shell could not find or start a command.
func (p runPage) LacksProgram() bool {
	code := p.Row.ExitCode
	return p.Row.Outcome == outcome.Failed && code != nil && (*code == 126 || *code == 127)
}

// Late is how long after its slot the run began.
func (p runPage) Late() time.Duration { return max(0, p.Row.Lateness()) }

// AttemptsText says how many attempts there were.
func (p runPage) AttemptsText() string {
	switch {
	case p.HasEnded && p.Run.Attempt > 1:
		return fmt.Sprint(p.Run.Attempt, ", one after another; what each printed is in the output")
	case p.Run.State == view.RunDeferred:
		return fmt.Sprint(p.Run.Attempt-1, " so far")
	}
	return strconv.Itoa(p.Run.Attempt)
}

func (p runPage) UsedCPU() bool { return p.Run.UserCPU+p.Run.SystemCPU > 0 }

// runButtons returns the buttons of the actions that the state of the run allows.
func runButtons(p *page, r view.Run) []button {
	at := p.Base + "/runs/" + r.Record.Run
	switch t := p.tasks[r.Task]; {
	case r.State == view.RunStarting, r.State == view.RunRunning:
		return []button{stopButton(p, r.Record.Run, r.Task)}
	case r.State == view.RunQueued, r.State == view.RunDeferred:
		return []button{{ID: "stop", Label: "Stop", Grave: true, Path: at + "/stop",
			Effect: "The run of " + r.Task + " waits no more: it is over."}}
	case r.State == view.RunWaiting:
		return []button{{ID: "cancel", Label: "Cancel the run", Grave: true, Path: at + "/cancel",
			Effect: "The run of " + r.Task + " does not begin: it is skipped."}}
	case r.State == view.RunEnded && t != nil && p.Schedule.Active(t):
		return []button{retryButton(p, r.Row)}
	}
	return nil
}

// stopButton returns the button that ends a run whose command runs on this server.
func stopButton(p *page, run, task string) button {
	return button{ID: "stop", Label: "Stop", Grave: true, Path: p.Base + "/runs/" + run + "/stop",
		Effect: "The command of " + task + " gets TERM, and KILL if it goes on."}
}

// retryButton returns the button that runs again what has ended, of a task that is in the schedule.
func retryButton(p *page, r state.Row) button {
	return button{ID: "retry", Label: "Retry", Path: p.Base + "/runs/" + r.ID + "/retry",
		Params: paramFields(p.tasks[r.Task], r.ID, r.Params),
		Effect: "Run " + r.Task + " again, now or with the next tick, as it is defined then."}
}

// download answers with all that a run, or with hooks=true its hooks, printed. It sends a part
// before it reads the next. An error means that it has sent nothing.
func download(server *serve.Server, w http.ResponseWriter, r *http.Request) error {
	visit, leave, err := serve.NewVisit(server, r, serve.ScopeRead, serve.Quick)
	if err != nil {
		return err
	}
	shown, err := view.FindRun(r.Context(), visit.View, r.PathValue("id"))
	leave()
	hooks := r.URL.Query().Get("hooks") == "true"
	var log view.Log
	if err == nil {
		log, err = view.ReadLog(visit.View, shown, hooks, 0, 0, downloadPart)
	}
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="`+humanize.ShortRun(shown.Record.Run)+`.log"`)
	size, controller := log.Size, http.NewResponseController(w)
	for sent := int64(0); len(log.Text) > 0; {
		controller.SetWriteDeadline(time.Now().Add(30 * time.Second)) // of this part: all of it may take long
		if _, err := w.Write(log.Text); err != nil {
			return nil
		}
		if sent = log.Next; sent >= size {
			return nil
		}
		if log, err = view.ReadLog(visit.View, shown, hooks, sent, 0, downloadPart); err != nil {
			panic(http.ErrAbortHandler) // a download that is cut off does not look whole
		}
	}
	return nil
}

// downloadPart is how many bytes of a download are read at a time.
const downloadPart = 256 << 10
