package mutex

import (
	"encoding/json"
	"strconv"
)

// An answer is what one server says to a request: the words of a script, or why there are none.
type answer struct {
	words []string
	err   error
}

// word returns a word of the answer, "" where it has fewer.
func (a answer) word(i int) string {
	if i < len(a.words) {
		return a.words[i]
	}
	return ""
}

func (a answer) fence(i int) int64 {
	n, _ := strconv.ParseInt(a.word(i), 10, 64)
	return n
}

// holder reads the words that follow "held": the run, the text about the holder, and its fence. The
// text counts only if it is of that run: it may be left from the one before.
func (a answer) holder() (holder Holder) {
	if json.Unmarshal([]byte(a.word(2)), &holder) != nil || holder.Run != a.word(1) {
		holder = Holder{Run: a.word(1)}
	}
	holder.Fence = max(holder.Fence, a.fence(3))
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
	fence   int64             // the largest of ours
	failed  []error
}

// tally counts answers until there are enough, or all. A nil enough waits for all.
func (r *Redis) tally(answers <-chan answer, enough func(*tally) bool) (t tally) {
	for range r.servers {
		t.add(<-answers)
		if enough != nil && enough(&t) {
			break
		}
	}
	return t
}

func (t *tally) add(a answer) {
	if a.err != nil {
		t.failed = append(t.failed, a.err)
		return
	}
	switch a.words[0] {
	case "ours":
		t.ours++
		t.fence = max(t.fence, a.fence(1))
	case "retaken":
		t.retaken++
	case "free":
		t.free++
	case "broken":
		t.broken++
		if a.word(1) != "" {
			t.addHolder(a)
		}
	case "held":
		t.addHolder(a)
	}
}

func (t *tally) addHolder(a answer) {
	if t.others == nil {
		t.others, t.holders = map[string]int{}, map[string]Holder{}
	}
	run := a.word(1)
	t.others[run]++
	if holder := a.holder(); holder.Host != "" || t.holders[run].Run == "" {
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
