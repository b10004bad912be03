package foreign

import (
	"regexp"
	"slices"
	"strings"

	"sched/schedule/humanize"
)

// runs are the methods that make a task.
var runs = []string{"command", "exec", "call", "job"}

// A laravelGroup is a call of group(). The tasks in it have the attributes of the groups around it,
// then the attributes of its own chain.
type laravelGroup struct {
	open, end     int       // its bracket, and the one that closes it
	calls         []phpCall // before group(); their tasks have them, too
	isRead        bool      // the calls are known
	isConditional bool
	arrow         int // where the expression of fn () => begins; 0: the body has braces
}

// A laravelReader reads the statements of a file, from the first to the last.
type laravelReader struct {
	phpSource
	app     laravelApp
	groups  []*laravelGroup // in the order of the file
	blocks  *phpBlocks
	chains  []int    // where the chains that were read end
	skipped []string // statements that make no task
}

var (
	groupCall = humanize.Pattern(`->\s*group\s*(\()`)
	groupBody = humanize.Pattern(`^\s*(?:static\s+)?(?:` +
		`function\s*\([^()]*\)\s*(?:use\s*\([^()]*\)\s*)?(?::\s*\w+\s*)?(\{)|fn\s*\([^()]*\)\s*(?::\s*\w+\s*)?=>(\s*\[?))`)
	scheduleVariable = humanize.Pattern(`\(\s*[\\\w]*\bSchedule\s+&?\$(\w+)|` +
		`->\s*group\s*\(\s*(?:static\s+)?(?:function|fn)\s*\(\s*&?\$(\w+)`)
)

// findGroups returns all calls of group(), none of which is read.
func findGroups(s phpSource) (groups []*laravelGroup) {
	for _, at := range groupCall().FindAllStringSubmatchIndex(s.code, -1) {
		if end, isClosed := s.closing[at[2]]; isClosed {
			groups = append(groups, &laravelGroup{open: at[2], end: end})
		}
	}
	return groups
}

// A chainStart is where a chain begins.
type chainStart struct {
	begin, method int // the place of Schedule::, and of the first method
	isArtisan     bool
}

// chainStarts returns where the chains begin.
func chainStarts(s phpSource) (all []chainStart) {
	names := []string{"schedule"}
	for _, found := range scheduleVariable().FindAllStringSubmatch(s.code, -1) {
		names = append(names, found[1]+found[2])
	}
	slices.Sort(names)
	chain := regexp.MustCompile(`(?:\\?(?:\w+\\)*\bSchedule\s*::\s*|\$(?:` + strings.Join(slices.Compact(names), "|") +
		`)\s*->\s*)(\w+)\s*\(|\bArtisan::(command)\(`)
	for _, at := range chain.FindAllStringSubmatchIndex(s.code, -1) {
		all = append(all, chainStart{at[0], max(at[2], at[4]), at[4] >= 0})
	}
	return all
}

// read reads a chain. It returns nil if the chain makes no task.
func (r *laravelReader) read(start chainStart) *Job {
	around := r.around(start.begin)
	isConditional := r.isConditional(start.begin, around)
	calls, end, err := r.chain(start.method)
	r.chains = append(r.chains, end)
	run := slices.IndexFunc(calls, func(c phpCall) bool { return slices.Contains(runs, c.name) })
	j := &Job{Name: "task"}
	if last := len(calls) - 1; err == nil && run < 0 && calls[last].name == "group" {
		return r.readGroup(calls[last], calls[:last], isConditional)
	}
	r.blocks.later = max(r.blocks.later, end)
	switch {
	case err == nil && run < 0:
		r.skipped = append(r.skipped, "Schedule::"+strings.TrimPrefix(calls[0].String(), "->"))
		return nil
	case err != nil:
		return j.refuse("%v: %s", err, fromList)
	}
	own := slices.Concat(calls[:run], calls[run+1:])
	isTimed := slices.ContainsFunc(own, func(c phpCall) bool { return isTime(c.name) })
	if start.isArtisan && !isTimed {
		return nil // a command that nothing schedules here
	}
	setRun(j, calls[run], start.isArtisan, r.app, r.text)
	var attributes []phpCall
	for _, g := range around {
		if !g.isRead {
			return j.refuse("the group around it is not plain: %s", fromList)
		}
		attributes = append(attributes, g.calls...)
	}
	calls = append(attributes, own...)
	if !slices.ContainsFunc(calls, func(c phpCall) bool { return isTime(c.name) }) {
		if isConditional {
			return j.refuse("PHP around it may say when it is due: %s", fromList)
		}
		j.note("nothing says when it is due: Laravel starts it every minute")
	}
	setLaravel(j, calls)
	if isConditional {
		j.setPlain("enabled", "false")
		j.note("it is switched off: PHP around it decides whether it is scheduled")
	}
	return j
}

// readGroup makes a group known. It returns a job that says why if the group cannot be read.
func (r *laravelReader) readGroup(call phpCall, before []phpCall, isConditional bool) *Job {
	i := slices.IndexFunc(r.groups, func(g *laravelGroup) bool { return g.open == call.open })
	body := groupBody().FindStringSubmatchIndex(call.inside)
	if i < 0 || body == nil || len(before) == 0 {
		j := &Job{Name: "group"}
		return j.refuse("group() has no plain function, or no time before it: %s", fromList)
	}
	g := r.groups[i]
	g.calls, g.isRead, g.isConditional = before, true, isConditional
	if body[2] >= 0 {
		r.blocks.bodies[call.open+1+body[2]] = isConditional
	} else {
		g.arrow = call.open + 1 + body[5]
	}
	return nil
}

// around returns the groups around a place, the outermost first.
func (r *laravelReader) around(at int) (found []*laravelGroup) {
	for _, g := range r.groups {
		if g.open < at && at < g.end {
			found = append(found, g)
		}
	}
	return found
}

// isConditional reports whether PHP decides if a chain is reached. In a group whose function is an
// arrow, a chain stands alone, or in a list behind others.
func (r *laravelReader) isConditional(at int, around []*laravelGroup) bool {
	floor := 0
	isConditional := false
	if len(around) > 0 {
		inner := around[len(around)-1]
		if floor = inner.arrow; floor > 0 {
			isConditional = inner.isConditional
			if last := len(r.chains) - 1; last >= 0 && r.chains[last] > floor && r.chains[last] < at {
				floor = r.chains[last]
				if r.text[floor] == ',' {
					floor++
				}
			}
		}
	}
	return r.blocks.read(at, floor) || isConditional
}
