package serve

import (
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"

	"sched/schedule/state"
	"sched/schedule/view"
)

// logEvent is an event of a log stream. Its id is the offset behind the text.
type logEvent struct {
	Offset int64  `json:"offset"` // of the text in what was printed
	Text   string `json:"text"`   // bytes that are no UTF-8 are �
}

func getLogStream(r *Visit) (any, error) {
	one, err := r.View.Run(r.Context(), r.PathValue("id"))
	if err == nil {
		err = one.Elsewhere("logs")
	}
	if err != nil {
		return nil, err
	}
	offset := r.query.numbers["offset"]
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		if offset, err = strconv.ParseInt(last, 10, 64); err != nil || offset < 0 {
			return nil, NewProblem(http.StatusBadRequest, "leave it out to begin at the beginning", "Last-Event-ID is not one of this stream")
		}
	}
	return content{stream: func(e *events) { followLog(e, r.View, one, offset) }}, nil
}

// mostOfAnEvent is the most bytes of the text of one event.
const mostOfAnEvent = 32 << 10

// followLog sends what a run prints until it has ended and all was sent.
func followLog(e *events, source view.Source, one view.Run, offset int64) {
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		// Poll first: then all that was printed before the end is read.
		record, again, err := pollRun(e, source, &one)
		if err != nil {
			return
		}
		over := again == 0
		sent, err := sendLog(e, source, one, offset, over)
		if err != nil {
			return
		}
		offset += sent
		switch {
		case sent > 0:
			continue
		case over:
			if record.Outcome != "" {
				one = view.EndedRun(source, record)
			}
			e.send(strconv.FormatInt(offset, 10), "end", one)
			return
		}
		select {
		case <-time.After(again):
		case <-beat.C:
			if e.beat() != nil {
				return
			}
		case <-e.ctx.Done():
			return
		}
	}
}

// pollRun returns how far the run is. A run that waits for a tick has no file yet, so it is looked
// up anew.
func pollRun(e *events, source view.Source, one *view.Run) (record state.Row, again time.Duration, err error) {
	if one.State != view.RunWaiting {
		return view.Poll(e.ctx, source, one.Begin)
	}
	now, err := source.Run(e.ctx, one.Begin.ID)
	if err != nil {
		return record, 0, err
	}
	*one = now
	return now.Begin, time.Second, nil
}

// sendLog sends the next part and returns its length. Unless over, it keeps back an incomplete
// character at the end.
func sendLog(e *events, source view.Source, one view.Run, offset int64, over bool) (int64, error) {
	log, err := source.Log(one, false, offset, 0, mostOfAnEvent)
	if err != nil || log.Offset < offset {
		return 0, err
	}
	whole := log.Text
	if !over || len(whole) == mostOfAnEvent {
		whole = wholeCharacters(whole)
	}
	if len(whole) == 0 {
		return 0, nil
	}
	behind := log.Offset + int64(len(whole))
	return behind - offset, e.send(strconv.FormatInt(behind, 10), "log", logEvent{log.Offset, string(whole)})
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
