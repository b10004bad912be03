package mutex

import (
	"encoding/json"

	"sched/mutex/redisserver"
)

// parseHolder reads a holder as it is kept on Redis: the run, and the text about the holder. The
// text counts only if it is of that run: it may be left from the one before.
func parseHolder(run, text string) (holder Holder) {
	if json.Unmarshal([]byte(text), &holder) != nil || holder.Run != run {
		holder = Holder{Run: run}
	}
	return holder
}

// holderText is a holder as it is kept on Redis.
func holderText(holder Holder) string {
	text, _ := json.Marshal(holder) // of strings and numbers: this cannot fail
	return string(text)
}

// A tally counts the answers of the servers that have answered so far, by their first word.
type tally struct {
	ours, retaken, free, broken int

	others  map[string]int    // by the id of the run that has the mutex
	holders map[string]Holder // the same runs
	failed  []error
}

// tally counts answers until there are enough, or all. A nil enough waits for all.
func (r *Redis) tally(answers <-chan redisserver.Answer, enough func(*tally) bool) (t tally) {
	for range r.servers {
		t.add(<-answers)
		if enough != nil && enough(&t) {
			break
		}
	}
	return t
}

func (t *tally) add(a redisserver.Answer) {
	if a.Err != nil {
		t.failed = append(t.failed, a.Err)
		return
	}
	switch a.Words[0] {
	case "ours":
		t.ours++
	case "retaken":
		t.retaken++
	case "free":
		t.free++
	case "broken":
		t.broken++
		if a.Word(1) != "" {
			t.addHolder(a)
		}
	case "held":
		t.addHolder(a)
	}
}

func (t *tally) addHolder(a redisserver.Answer) {
	if t.others == nil {
		t.others, t.holders = map[string]int{}, map[string]Holder{}
	}
	run := a.Word(1)
	t.others[run]++
	if holder := parseHolder(a.Word(1), a.Word(2)); holder.Host != "" || t.holders[run].Run == "" {
		t.holders[run] = holder
	}
}

// holder returns the other run that most servers name, and how many do.
func (t *tally) holder() (holder Holder, servers int) {
	for run, n := range t.others {
		if n > servers || n == servers && run < holder.Run {
			holder, servers = t.holders[run], n
		}
	}
	return holder, servers
}
