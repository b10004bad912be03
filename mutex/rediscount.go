package mutex

import (
	"encoding/json"
	"strconv"
	"time"
)

// An answer is what one server says to a request.
type answer struct {
	words []string // the first says what is the case
	err   error
}

// A count has the answers of the servers, of those that answered so far.
type count struct {
	ours    int // the mutex is ours there
	again   int // it was gone, and is ours again
	free    int
	broken  int // it was taken from us by hand
	others  map[string]int
	holders map[string]Holder // of others
	fence   int64             // the largest of ours
	failed  []error
}

func (c *count) add(a answer) {
	if a.err != nil {
		c.failed = append(c.failed, a.err)
		return
	}
	switch a.words[0] {
	case "ours":
		c.ours++
		c.fence = max(c.fence, a.fence(1))
	case "again":
		c.again++
	case "free":
		c.free++
	case "broken":
		c.broken++
		if a.word(1) != "" {
			c.other(a)
		}
	case "held":
		c.other(a)
	}
}

func (c *count) other(a answer) {
	if c.others == nil {
		c.others, c.holders = map[string]int{}, map[string]Holder{}
	}
	run := a.word(1)
	c.others[run]++
	if holder := a.holder(); holder.Host != "" || c.holders[run].Run == "" {
		c.holders[run] = holder
	}
}

// holder returns the owner that most servers name, and how many do.
func (c *count) holder() (holder Holder, votes int) {
	for run, n := range c.others {
		if n > votes || n == votes && run < holder.Run {
			holder, votes = c.holders[run], n
		}
	}
	return holder, votes
}

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

// owner reads the words that follow "held": the run, what it says of itself, and its fence. What it
// says may be that of a run before.
func (a answer) holder() (holder Holder) {
	if json.Unmarshal([]byte(a.word(2)), &holder) != nil || holder.Run != a.word(1) {
		holder = Holder{Run: a.word(1)}
	}
	holder.Fence = max(holder.Fence, a.fence(3))
	return holder
}

// poll puts a request to every server at the same time, and sends the answers in the order in which
// they come.
func (r *Redis) poll(end time.Time, q request, in *queue) <-chan answer {
	answers := make(chan answer, len(r.servers))
	for i, s := range r.servers {
		mine, done := q, make(chan struct{})
		before := in.join(i, done)
		r.busy.Go(func() {
			defer close(done)
			<-before
			words, err := s.run(end, &mine)
			answers <- answer{words, err}
		})
	}
	return answers
}

// count counts answers until they are enough, or all. Nil is never enough.
func (r *Redis) count(answers <-chan answer, enough func(*count) bool) (c count) {
	for range r.servers {
		c.add(<-answers)
		if enough != nil && enough(&c) {
			break
		}
	}
	return c
}
