package serve

import (
	"crypto/rand"
	"net/http"
	"slices"

	"sched/schedule/forecast"
	"sched/schedule/proposal"
	"sched/schedule/view"
)

// New returns a server that serves nothing yet: see Handler.
func New(c Config) (*Server, error) {
	s := &Server{
		Config:         c,
		places:         make(chan struct{}, maxPlaces),
		stopping:       make(chan struct{}, maxStopping),
		following:      make(chan struct{}, maxFollowing),
		forecastPlaces: make(chan struct{}, maxForecastPlaces),
		mux:            http.NewServeMux(),
		withheld:       http.NewServeMux(),
		forecasts:      newForecasts(),
		process:        rand.Text()[:8],
	}
	s.current.load, s.bodyTimeout = c.Schedules.Load, maxBodyTime
	s.access = newAccess(c)
	s.watcher = &watcher{Schedule: s.current.get}
	offered := routesOf(c)
	for _, r := range routes() {
		if !c.offers(r.scope) {
			s.withheld.HandleFunc(r.method+" "+s.BasePath+prefix+r.path, http.NotFound)
		}
	}
	for _, r := range offered {
		s.mux.Handle(r.method+" "+s.BasePath+prefix+r.path, handlerOf(s, r))
		if r.outsideToo {
			s.mux.Handle(r.method+" "+s.BasePath+r.path, handlerOf(s, r))
		}
	}
	if c.Mount == "" { // else the site does
		s.access.SignIn(s.mux)
	}
	var err error
	s.openapi, err = document(c, offered)
	return s, err
}

// routesOf returns the routes that a server of the configuration has.
func routesOf(c Config) []route {
	return slices.DeleteFunc(routes(), func(rt route) bool { return !c.offers(rt.scope) })
}

func routes() []route {
	return []route{
		{method: "GET", path: "/status", scope: ScopeRead, handle: getStatus,
			about:  "Whether all is well",
			status: 200, value: view.Status{}},
		{method: "GET", path: "/tasks", scope: ScopeRead, handle: getTasks,
			about:  "The tasks, in file order",
			status: 200, value: page[view.Task]{}, errors: []int{404},
			params: []param{
				cursorParam,
				limitParam(200, 1000),
				{name: "tag", kind: kindString, about: "only tasks with one of these tags", many: true},
				{name: "times", kind: kindInteger, byDefault: 1, most: 100,
					about: "how many of the next times: 1 unless given, at most 100"},
			}},
		{method: "GET", path: "/tasks/{name}", scope: ScopeRead, handle: getTask,
			about:  "A task, and how it is defined",
			status: 200, value: view.Definition{}, alsoKind: yamlText, errors: []int{404},
			params: []param{
				{name: "source", kind: kindBoolean,
					about: "true: the keys of the task as they are written, in YAML, which PUT takes. " +
						"It needs --edit, and a token of the scope edit"},
			}},
		{method: "GET", path: "/tasks/{name}/why", scope: ScopeRead, handle: getWhy,
			about:  "When it ran, or why it did not, and what could stop it",
			status: 200, value: view.Why{}, errors: []int{404},
			params: []param{{name: "at", kind: kindTime, about: "a time in the minute that is to be explained"}}},
		{method: "GET", path: "/upcoming", scope: ScopeRead, handle: getUpcoming,
			about:  "The slots between two times",
			status: 200, value: page[view.Upcoming]{},
			params: []param{
				{name: "since", kind: kindTime, about: "now unless given"},
				{name: "until", kind: kindTime, about: "a day after since unless given"},
				cursorParam,
				limitParam(200, 1000),
			}},
		{method: "GET", path: "/forecast", scope: ScopeRead, handle: getForecast, work: Forecasting,
			about:  "A forecast of a span of time",
			status: 200, value: forecast.Forecast{},
			params: []param{
				{name: "since", kind: kindTime, about: "the beginning of this hour unless given"},
				{name: "until", kind: kindTime, about: "where it ends, unless for is given"},
				{name: "for", kind: kindString, about: "how long it is: 12h, 7d unless given, at most 31d"},
			}},
		{method: "GET", path: "/runs", scope: ScopeRead, handle: getRuns,
			about:  "Records of slots, the newest first",
			status: 200, value: page[view.Record]{}, errors: []int{404},
			params: []param{
				{name: "task", kind: kindString, about: "only of this task"},
				{name: "outcome", kind: kindString, about: "only these outcomes", many: true},
				{name: "since", kind: kindPast, about: "only slots at or after it"},
				{name: "until", kind: kindPast, about: "only slots before it"},
				{name: "all_servers", kind: kindBoolean,
					about: "true: what ran on all servers of the store, without slots that were skipped or missed"},
				cursorParam,
				limitParam(100, view.MaxPageSize),
			}},
		{method: "GET", path: "/summary", scope: ScopeRead, handle: getSummary,
			about:  "Sums over slots, by task",
			status: 200, value: page[view.Summary]{}, errors: []int{404},
			params: []param{
				{name: "task", kind: kindString, about: "only of this task"},
				{name: "tag", kind: kindString, about: "only of tasks with one of these tags", many: true},
				{name: "since", kind: kindPast, about: "only slots at or after it: 24 hours ago unless given"},
				{name: "until", kind: kindPast, about: "only slots before it"},
			}},
		{method: "GET", path: "/runs/{id}", scope: ScopeRead, handle: getRun,
			about:  "A run that waits, lives or has ended",
			status: 200, value: view.Run{}, errors: []int{404, 409}},
		{method: "GET", path: "/runs/{id}/log", scope: ScopeRead, handle: getLog,
			about: "The output of a run, as it was. " +
				"Sched-Log-Size is the size of all of it, Sched-Log-Offset where this part begins",
			status: 200, kind: plainText, errors: []int{404, 409},
			params: []param{
				{name: "offset", kind: kindBytes, about: "from this byte on"},
				{name: "tail", kind: kindBytes, about: "only the last bytes"},
				{name: "hooks", kind: kindBoolean, about: "true: what its hooks printed"},
			}},
		{method: "GET", path: "/runs/{id}/log/stream", scope: ScopeRead, handle: getLogStream,
			about: "The output of a run, as it comes: " +
				"events `log` {offset, text} and, when it has ended, `end` (a run)",
			status: 200, kind: eventStreamType, errors: []int{404, 409},
			params: []param{
				{name: "offset", kind: kindBytes, about: "from this byte on, unless there is a Last-Event-ID"},
			}},
		{method: "GET", path: "/events", scope: ScopeRead, handle: getEvents,
			about: "Changes as they come: events `run`, `tick`, `pauses`, `waiting`, `schedule`; " +
				"first `ready`, or `reset` if some were missed",
			status: 200, kind: eventStreamType},
		{method: "GET", path: "/servers", scope: ScopeRead, handle: getServers,
			about:  "The servers that share the schedule",
			status: 200, value: page[view.Server]{}, errors: []int{404}},
		{method: "GET", path: "/pauses", scope: ScopeRead, handle: getPauses,
			about:  "The pauses in effect, and then those that are planned",
			status: 200, value: page[Pausing]{}},
		{method: "GET", path: "/audit", scope: ScopeRead, handle: getAudit, needsNoSchedule: true,
			about:  "Changes by people, here and with commands, the newest first",
			status: 200, value: page[view.Change]{},
			params: []param{cursorParam, limitParam(100, 1000)}},
		{method: "GET", path: "/proposals", scope: ScopeRead, handle: getProposals,
			about:  "The proposals that wait for a person, the oldest first, without their keys",
			status: 200, value: page[proposal.Proposal]{}},
		{method: "GET", path: "/proposals/{id}", scope: ScopeApprove, handle: getProposal, work: Forecasting,
			about:  "A proposal, and what it would change",
			status: 200, value: Review{}, errors: []int{404, 409}},

		{method: "GET", path: "/schema", scope: ScopeRead, handle: getSchema, needsNoSchedule: true,
			about:  "The JSON Schema of schedule.yaml, as `sched schema` prints it",
			status: 200, kind: schemaJSON},
		{method: "GET", path: "/healthz", scope: ScopeOpen, handle: getHealth, needsNoSchedule: true,
			about:  "Whether the server answers; it says nothing of the tasks. /healthz answers the same",
			status: 200, value: health{}, outsideToo: true},
		{method: "GET", path: "/openapi.json", scope: ScopeOpen, handle: getDocument, needsNoSchedule: true,
			about:  "This document",
			status: 200, value: map[string]any{}},
		{method: "GET", path: "/metrics", scope: ScopeRead, handle: getMetrics,
			about:  "Metrics for Prometheus; /metrics outside of the API, where scrapers look, answers the same",
			status: 200, kind: "text/plain; version=0.0.4; charset=utf-8", outsideToo: true},
		{method: "GET", path: "/badge/{key}", scope: ScopeBadge, handle: getBadge,
			about: "A picture of how the last run of a task ended; " +
				"the key is KEY.svg, of `sched serve token --badge TASK`",
			status: 200, kind: "image/svg+xml", errors: []int{404}},
		{method: "GET", path: "/calendar.ics", scope: ScopeRead, handle: getCalendar,
			about:  "The runs of the next 60 days as a calendar (RFC 5545)",
			status: 200, kind: view.CalendarKind, errors: []int{404}, params: calendarParams()},
		{method: "GET", path: "/calendar/{key}", scope: ScopeCalendar, handle: getCalendar,
			about: "The same for programs that can send no header; " +
				"the key is KEY.ics, of `sched serve token --calendar`",
			status: 200, kind: view.CalendarKind, errors: []int{404}, params: calendarParams()},

		{method: "POST", path: "/tasks/{name}/trigger", scope: ScopeOperate, handle: taking(postTrigger),
			about: "Run a task once more, now or later. 200 when it was waited for and has ended, with its record",
			body:  Asking{}, status: 202, alsoStatus: 200, value: view.Request{}, errors: []int{404, 409, 413, 415},
			params: []param{{name: "wait", kind: kindString,
				about: "answer when the run has ended, or after so long: 60s, at most 10m"}}},
		{method: "POST", path: "/runs/{id}/retry", scope: ScopeOperate, handle: taking(postRetry),
			about: "Ask for a run again",
			body:  Asking{}, status: 202, value: view.Request{}, errors: []int{404, 409, 413, 415}},
		{method: "POST", path: "/runs/{id}/stop", scope: ScopeOperate, handle: taking(postStop), work: Waiting,
			about: "Stop a run that lives: TERM, then KILL. 202 when it has not ended yet",
			body:  Reason{}, status: 200, value: view.Run{}, errors: []int{404, 409, 413, 415}},
		{method: "POST", path: "/runs/{id}/cancel", scope: ScopeOperate, handle: taking(postCancel), work: Waiting,
			about: "End a run that waits, before it begins or between two attempts. 202 when it has not ended yet",
			body:  Reason{}, status: 200, value: view.Run{}, errors: []int{404, 409, 413, 415}},
		{method: "POST", path: "/pauses", scope: ScopeOperate, handle: taking(postPause),
			about: "Pause tasks, or without tasks and tags everything",
			body:  PauseRequest{}, status: 201, value: page[Pausing]{}, errors: []int{404, 413, 415}},
		{method: "DELETE", path: "/pauses/{id}", scope: ScopeOperate, handle: deletePause,
			about:  "End a pause, or take back a planned one",
			status: 204, errors: []int{404}},
		{method: "POST", path: "/hooks/{key}", scope: ScopeHook, handle: postHook,
			about:  "Trigger one task; takes no input. The key is of `sched serve token --hook TASK`",
			status: 202, value: view.Request{}, errors: []int{404, 409, 429}},
		{method: "POST", path: "/proposals/{id}/approve", scope: ScopeApprove, handle: taking(postApprove),
			work: Forecasting, about: "Check a proposal again, and write its task",
			body: Reason{}, status: 200, value: proposal.Proposal{}, errors: []int{404, 409, 413, 415}},
		{method: "POST", path: "/proposals/{id}/reject", scope: ScopeApprove, handle: taking(postReject),
			about: "Forget a proposal",
			body:  Reason{}, status: 200, value: proposal.Proposal{}, errors: []int{404, 413, 415}},

		{method: "PUT", path: "/tasks/{name}", scope: ScopeEdit, handle: putTask,
			about:  "Write a task into the folder of --edit: its keys as YAML or JSON, without name",
			status: 200, value: view.Definition{}, errors: []int{409, 412, 413, 415, 422, 428}},
		{method: "DELETE", path: "/tasks/{name}", scope: ScopeEdit, handle: deleteTask,
			about:  "Remove a task from the folder of --edit",
			status: 204, errors: []int{404, 409, 412, 422, 428}},
	}
}

func calendarParams() []param {
	return []param{{name: "task", kind: kindString, about: "only of this task; it may be given again", many: true}}
}
