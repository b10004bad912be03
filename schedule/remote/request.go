package remote

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"sched/schedule/outcome"
	"sched/schedule/text"
)

// A Kind is what is asked for.
type Kind string

// What can be asked for.
const (
	Stop    Kind = "stop"
	Logs    Kind = "logs"
	Trigger Kind = "trigger"
)

const (
	// Stands is how long a request waits for its server to take it: three ticks have come by then.
	Stands = 3 * time.Minute
	// TakenFor is how long a server may be at a request that it has taken. A stop takes the kill_after of its task, and its hooks.
	TakenFor = 10 * time.Minute
	// answerFor is how long an answer is kept for who asked.
	answerFor = 2 * time.Minute

	// Most is how many requests may stand for one server.
	Most = 50
	// MostLog is the most bytes of an output in one answer, and MostHooks those of what hooks printed.
	MostLog, MostHooks = 64 << 10, 16 << 10

	mostRequest = 4 << 10 // bytes of a request
	mostAnswer  = 2 * (MostLog + MostHooks)
	mostWords   = 500 // characters of a text for people
)

// A Request is what is asked of a server.
type Request struct {
	ID     string    `json:"id"`
	Kind   Kind      `json:"kind"`
	Run    string    `json:"run"`            // the run to stop or to show, or the id that the run asked for will have
	Task   string    `json:"task"`           // its task
	At     time.Time `json:"at,omitzero"`    // for Trigger: when the run is wanted
	By     string    `json:"by"`             // who asks
	From   string    `json:"from"`           // on which server
	Reason string    `json:"reason"`         // why; may be empty
	Asked  time.Time `json:"asked"`          // by the clock of who asks
	Offset int64     `json:"offset"`         // for Logs: from this byte on
	Tail   int64     `json:"tail,omitempty"` // for Logs: only the last bytes

	Taken bool `json:"-"` // the server is at it
}

// Who is who asks, with the server on which that is.
func (q Request) Who() string { return q.By + " on " + q.From }

// An Answer says what became of a request.
type Answer struct {
	ID      string    `json:"id"`
	Done    bool      `json:"done"` // it was carried out; else Text says why not
	Text    string    `json:"text"` // one line
	Hint    string    `json:"hint"`
	Tick    time.Time `json:"tick,omitzero"` // for Trigger: the tick that begins the run
	Log     *Log      `json:"log,omitempty"` // for Logs
	Outcome string    `json:"outcome"`       // for Stop and Logs: of the run; empty while it goes on
}

// A Log is a part of what a run printed, as it was: what shows it on a terminal makes it plain (text.Plain).
type Log struct {
	Text   []byte `json:"text"`
	Offset int64  `json:"offset"` // of Text in what was printed
	Size   int64  `json:"size"`   // of all that was printed so far
	Hooks  []byte `json:"hooks"`  // the end of what its hooks printed
}

// The states of a request in its hash.
const (
	waiting = "waiting"
	taken   = "taken"
)

// parseRequest reads the value of one field of a hash. It is false for one that is over at the time now, and for what no sched wrote.
func parseRequest(id, value string, now time.Time) (q Request, ok bool) {
	end, rest, _ := strings.Cut(value, " ")
	state, body, _ := strings.Cut(rest, " ")
	ms, err := strconv.ParseInt(end, 10, 64)
	if err != nil || len(body) > mostRequest || !now.Before(time.UnixMilli(ms)) || json.Unmarshal([]byte(body), &q) != nil {
		return q, false
	}
	q.Taken = state == taken
	q.Task, q.By, q.From, q.Reason = line(q.Task), line(q.By), line(q.From), line(q.Reason)
	return q, q.ID == id && outcome.IsID(q.ID) && outcome.IsID(q.Run) && q.Offset >= 0 && q.Tail >= 0
}

// parseAnswer reads an answer; it is false for what is no answer to that request.
func parseAnswer(id, value string) (a Answer, ok bool) {
	if len(value) > mostAnswer || json.Unmarshal([]byte(value), &a) != nil || a.ID != id {
		return a, false
	}
	a.Text, a.Hint, a.Outcome = line(a.Text), line(a.Hint), line(a.Outcome)
	return a, true
}

// line is a text of another server as it may be shown.
func line(foreign string) string {
	characters := []rune(text.Line(foreign))
	return string(characters[:min(len(characters), mostWords)])
}
