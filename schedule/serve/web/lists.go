package web

import (
	"errors"
	"strings"

	"sched/schedule/serve"
	"sched/schedule/state"
	"sched/schedule/view"
)

// A serversPage lists the servers of the store.
type serversPage struct {
	*page
	Alone    bool   // there is no store
	Down     bool   // the store did not answer; a problem of the page says why
	LastTick string // of this machine, if the others are not listed; "" if no tick ever came, or nobody knows
	Servers  []listedServer
	Gone     []state.Row // the last run of each server that the store has forgotten
}

// A listedServer is a server with its schedule.
type listedServer struct {
	view.Server
	State        view.ServerState
	File, Digest string
	silence      string // see view.SilentText
}

func readServers(p *page) (serversPage, error) {
	p.title = "Servers"
	shown := serversPage{page: p}
	all, err := view.Servers(p.request.Context(), p.View)
	var wrong *view.Error
	if err != nil {
		if shown.Alone = errors.As(err, &wrong) && wrong.Kind == view.NotFound; !shown.Alone {
			shown.Down = true
			p.View.LeftOut(err)
		}
		if last, err := view.LastTick(p.Schedule.StateDir); err == nil && !last.IsZero() {
			shown.LastTick = p.Away(last, "").Text + " (" + p.Away(last, "").Away + ")"
		}
		return shown, nil
	}
	for i, s := range view.ServersOf(all) {
		shown.Servers = append(shown.Servers, listedServer{
			Server: s, State: view.ServerStateOf(all[i]), File: all[i].File, Digest: all[i].Digest,
			silence: view.SilentText(all, i),
		})
	}
	shown.Gone, err = view.GoneServers(p.request.Context(), p.View, all)
	return shown, err
}

// StateText says what the state of a server means for its runs; "" if all is well.
func (s listedServer) StateText() string {
	switch s.State {
	case view.ServerNoTicks:
		return "it says what runs, and starts nothing"
	case view.ServerSilent:
		return strings.TrimPrefix(s.silence, s.Name+" ")
	}
	return ""
}

// A pausesPage lists the pauses.
type pausesPage struct {
	*page
	PauseAll *button // nil for who may not, and if everything is paused
	All      []serve.Pausing
}

func readPauses(p *page) (pausesPage, error) {
	p.title = "Pauses"
	shown := pausesPage{page: p, All: p.Pauses()}
	everything := false
	for _, pausing := range shown.All {
		everything = everything || pausing.Everything && !pausing.Planned
	}
	if p.Operates() && !everything {
		shown.PauseAll = &button{ID: "pause", Label: "Pause everything", Grave: true, Ends: pauseEnds(p),
			Path:   p.Base + "/pauses",
			Effect: "No task will start, and slots will be skipped. Runs go on to their ends."}
	}
	return shown, nil
}

const changesOfAPage = 100

// An auditPage lists who changed what.
type auditPage struct {
	*page
	Changes []view.Change
	Older   string // the link to older ones; "" for none
}

func readAudit(p *page) (auditPage, error) {
	p.title = "Audit"
	changes, more, err := p.server.Changes(p.Query("below"), changesOfAPage)
	shown := auditPage{page: p, Changes: changes}
	if more {
		shown.Older = p.With("below", changes[len(changes)-1].ID)
	}
	return shown, err
}
