package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"sched/schedule/state"
	"sched/schedule/view"
)

// An eventStream is a stream of server-sent events
// (https://html.spec.whatwg.org/multipage/server-sent-events.html).
type eventStream struct {
	ctx        context.Context
	w          http.ResponseWriter
	controller *http.ResponseController
	beat       *time.Ticker
}

const (
	// maxStreams is how many streams there may be at a time.
	maxStreams = 256
	// heartbeat is the time between two signs of life: proxies end a connection on which nothing
	// happens for a minute.
	heartbeat = 15 * time.Second
	// maxSendTime is how long a reader may take for one event.
	maxSendTime = 10 * time.Second
	// maxStreamTime is how long a stream lasts: its token may have been revoked. Browsers connect
	// again by themselves.
	maxStreamTime = time.Hour
)

var openStreams atomic.Int64

// stream answers with a stream until it ends by itself, the reader goes away, or the server ends.
func stream(w http.ResponseWriter, r *http.Request, follow func(*eventStream)) {
	open := openStreams.Add(1)
	defer openStreams.Add(-1)
	if open > maxStreams {
		writeProblem(w, tryAgain(10, "close some", "there are %d streams already", maxStreams))
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), maxStreamTime)
	defer cancel()
	e := &eventStream{ctx, w, http.NewResponseController(w), time.NewTicker(heartbeat)}
	defer e.beat.Stop()
	w.Header().Set("Content-Type", eventStreamType)
	w.Header().Set("X-Accel-Buffering", "no") // nginx would keep events back
	e.controller.SetReadDeadline(time.Time{}) // or the connection ends with the read timeout
	w.WriteHeader(http.StatusOK)
	if e.write("retry: 2000\n\n") == nil {
		follow(e)
	}
}

// send sends one event, whose data is one line of JSON. It fails if the reader has gone away, or is
// too slow.
func (e *eventStream) send(id, name string, value any) error {
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

// wait waits until something comes, and shows the reader that the stream lives. It returns false
// when the reader has gone away, the server ends, or the stream has lasted long enough.
func wait[T any](e *eventStream, arrived <-chan T) bool {
	for {
		select {
		case <-arrived:
			return true
		case <-e.beat.C:
			if e.write(":\n\n") != nil {
				return false
			}
		case <-e.ctx.Done():
			return false
		}
	}
}

func (e *eventStream) write(text string) error {
	e.controller.SetWriteDeadline(time.Now().Add(maxSendTime))
	if _, err := e.w.Write([]byte(text)); err != nil {
		return err
	}
	return e.controller.Flush()
}

// A Greeting is the value of the first event, ready or reset.
type Greeting struct {
	Changed bool   `json:"changed"`
	Server  string `json:"server"` // another one after a restart of the server
}

// followChanges sends what changes in the schedules of some servers of this process, until the
// reader has gone away. It begins after the event last ("" for none) if every server still has it;
// otherwise the greeting is reset.
func followChanges(e *eventStream, last string, servers ...*Server) {
	wake := make(chan struct{}, 1)
	var all []*watchListener
	greeting := "ready"
	for _, server := range servers {
		listener, known := server.watcher.Listen(last, wake)
		defer listener.Leave()
		all = append(all, listener)
		if last != "" && !known {
			greeting = "reset"
		}
	}
	// The greeting has an id, so that a reader who is cut off before the first change misses
	// nothing.
	if e.send(all[0].ID(), greeting, Greeting{Changed: greeting == "reset", Server: servers[0].process}) != nil {
		return
	}
	for {
		for _, listener := range all {
			news, ok := listener.Next()
			if !ok {
				return // events that it has not seen are forgotten: it must connect again
			}
			for _, event := range news {
				if e.send(event.ID, event.Name, event.Value) != nil {
					return
				}
			}
		}
		if !wait(e, wake) {
			return
		}
	}
}

// logEvent is an event of a log stream. Its id is the offset behind the text.
type logEvent struct {
	Offset int64  `json:"offset"` // of the text in what was printed
	Text   string `json:"text"`   // bytes that are no UTF-8 are �
}

// maxEventText is the most bytes of the text of one event.
const maxEventText = 32 << 10

// followLog sends what a run prints until it has ended and all was sent.
func followLog(e *eventStream, source view.Source, shown view.Run, offset int64) {
	for longer := int64(0); ; {
		// Poll first: then all that was printed before the end is read.
		record, nextPoll, err := pollRun(e, source, &shown)
		if err != nil {
			return
		}
		ended := nextPoll == 0
		if ended { // the file has been masked
			offset, longer = offset-longer, 0
		}
		sent, masked, err := sendLog(e, source, shown, offset, ended)
		if err != nil {
			return
		}
		offset, longer = offset+sent, longer+masked
		switch {
		case sent > 0:
			continue
		case ended:
			if record.Outcome != "" {
				shown = view.EndedRun(source, record)
			}
			e.send(strconv.FormatInt(offset, 10), "end", shown)
			return
		}
		if !wait(e, time.After(nextPoll)) {
			return
		}
	}
}

// pollRun returns how far the run is. A run that waits for a tick has no file yet, so it is looked
// up anew.
func pollRun(e *eventStream, source view.Source, shown *view.Run) (record state.Row, wait time.Duration, err error) {
	if shown.State != view.RunWaiting {
		return view.Poll(e.ctx, source, shown.Row)
	}
	now, err := view.FindRun(e.ctx, source, shown.Row.ID)
	if err != nil {
		return record, 0, err
	}
	*shown = now
	return now.Row, time.Second, nil
}

// sendLog sends the next part and returns its length, and by how much it got shorter because
// secrets were masked. Unless the run has ended, it keeps back an incomplete character at the end.
func sendLog(
	e *eventStream, source view.Source, shown view.Run, offset int64, ended bool,
) (sent, masked int64, err error) {
	log, err := view.ReadLog(source, shown, false, offset, 0, maxEventText)
	if err != nil || log.Offset < offset {
		return 0, 0, err
	}
	text := log.Text
	if !ended || len(text) == maxEventText {
		text = wholeCharacters(text)
	}
	if len(text) == 0 {
		return 0, 0, nil
	}
	end := log.Next - int64(len(log.Text)-len(text))
	masked = end - log.Offset - int64(len(text))
	return end - offset, masked, e.send(strconv.FormatInt(end, 10), "log", logEvent{log.Offset, string(text)})
}

// wholeCharacters leaves out the beginning of a character at the end.
func wholeCharacters(text []byte) []byte {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if start := text[len(text)-n]; utf8.RuneStart(start) {
			if !utf8.FullRune(text[len(text)-n:]) {
				return text[:len(text)-n]
			}
			break
		}
	}
	return text
}
