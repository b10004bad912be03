package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"sched/schedule/view"
)

// events is a stream of server-sent events
// (https://html.spec.whatwg.org/multipage/server-sent-events.html).
type events struct {
	ctx        context.Context
	w          http.ResponseWriter
	controller *http.ResponseController
}

const (
	// mostStreams is how many streams there may be at a time.
	mostStreams = 256
	// heartbeat is the time between two signs of life: proxies end a connection on which nothing
	// happens for a minute.
	heartbeat = 15 * time.Second
	// slowest is how long a reader may take for one event.
	slowest = 10 * time.Second
	// longestStream is how long a stream lasts: its token may have been revoked. Browsers connect
	// again by themselves.
	longestStream = time.Hour
)

var streams atomic.Int64

// stream answers with a stream until it ends by itself, the reader goes away, or the server ends.
func stream(w http.ResponseWriter, r *http.Request, follow func(*events)) {
	defer streams.Add(-1)
	if streams.Add(1) > mostStreams {
		p := NewProblem(http.StatusServiceUnavailable, "close some", "there are %d streams already", mostStreams)
		p.RetryAfter = 10
		writeProblem(w, p)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), longestStream)
	defer cancel()
	e := &events{ctx, w, http.NewResponseController(w)}
	w.Header().Set("Content-Type", eventStream)
	w.Header().Set("X-Accel-Buffering", "no") // nginx would keep events back
	e.controller.SetReadDeadline(time.Time{}) // or the connection ends with the read timeout
	w.WriteHeader(http.StatusOK)
	if e.write("retry: 2000\n\n") == nil {
		follow(e)
	}
}

// send sends one event, whose data is one line of JSON. It fails if the reader has gone away, or is
// too slow.
func (e *events) send(id, name string, value any) error {
	text, err := view.JSON(value)
	if err != nil {
		return err
	}
	var line bytes.Buffer
	if err := json.Compact(&line, text); err != nil {
		return err
	}
	return e.write(fmt.Sprintf("id: %s\nevent: %s\ndata: %s\n\n", id, name, &line))
}

func (e *events) beat() error { return e.write(":\n\n") }

func (e *events) write(text string) error {
	e.controller.SetWriteDeadline(time.Now().Add(slowest))
	if _, err := e.w.Write([]byte(text)); err != nil {
		return err
	}
	return e.controller.Flush()
}

func getEvents(r *Visit) (any, error) {
	last := r.Header.Get("Last-Event-ID")
	if len(last) > 100 {
		return nil, NewProblem(http.StatusBadRequest, "", "Last-Event-ID is too long")
	}
	return content{stream: func(e *events) { followChanges(e, last, r.server) }}, nil
}

// A Greeting is the value of the first event, ready or reset.
type Greeting struct {
	Changed bool   `json:"changed"`
	Server  string `json:"server"` // another one after a restart of the server
}

// followChanges sends what changes in the schedules of some servers of this process, until the
// reader has gone away. If the event that the reader saw last is known to all, followChanges begins
// behind it.
func followChanges(e *events, last string, of ...*Server) {
	wake := make(chan struct{}, 1)
	var all []*watchListener
	greeting := "ready"
	for _, server := range of {
		listener, known := server.watcher.Listen(last, wake)
		defer listener.Leave()
		if all = append(all, listener); last != "" && !known {
			greeting = "reset"
		}
	}
	// The greeting has an id, so that a reader who is cut off before the first change misses
	// nothing.
	if e.send(all[0].ID(), greeting, Greeting{Changed: greeting == "reset", Server: of[0].process}) != nil {
		return
	}
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		for _, listener := range all {
			news, ok := listener.Next()
			if !ok {
				return // events that it has not seen are forgotten: it must connect again
			}
			for _, one := range news {
				if e.send(one.ID, one.Name, one.Value) != nil {
					return
				}
			}
		}
		select {
		case <-wake:
		case <-beat.C:
			if e.beat() != nil {
				return
			}
		case <-e.ctx.Done():
			return
		}
	}
}
