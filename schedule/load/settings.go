package load

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/assertion"
	"sched/schedule/cron"
	"sched/schedule/every"
	"sched/schedule/yamldoc"
)

// settings are the schedule while the top of its file is read, with the values of keys that are
// read later.
type settings struct {
	*schedule.Schedule
	ownName, ownStateDir string // empty: the key is not there
	env                  map[string]string
	poolNames            []*node // the names of Pools, in their order
	pauseEntries         []*node // the entries of Pauses, in their order
	calendarNames        []*node // the names of Calendars, in their order
}

// defaultStateDir returns the state folder of a file without state_dir.
//
// For a file in /etc it is in /var/lib/sched, under the name of the schedule. Otherwise it is
// .sched beside the file. A file that is not called schedule.yaml has a part of its own in it,
// unless it is in /etc and names its schedule.
func defaultStateDir(file, name string, named bool) string {
	dir := filepath.Dir(file)
	own := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(file), ".yaml"), ".yml")
	if own == "" {
		own = filepath.Base(file)
	}
	inEtc := dir == "/etc" || strings.HasPrefix(dir, "/etc/")
	if own == "schedule" || inEtc && named {
		own = ""
	}
	if inEtc {
		return filepath.Join("/var/lib/sched", name, own)
	}
	return filepath.Join(dir, ".sched", own)
}

// setTopEnv reads the variables of all commands.
func setTopEnv(l *loader, s *settings, n *node) {
	s.env = readVariables(l.Reader, n, nil)
	noteSecrets(l, n)
}

// setHistory reads a mapping. Keys that the mapping lacks keep their values.
func setHistory(l *loader, s *settings, n *node) {
	if l.RequireMapping(n, l.Key, "") {
		historyKeys.Decode(l, &s.History, n, 0)
		if failures := s.History.KeepFailures; failures > 0 && failures < s.History.Keep {
			l.Problemf(n, "failures are kept at least as long as other runs",
				"history.keep_failures is less than history.keep")
		}
	}
}

// setMetrics reads a mapping with a textfile, which is all that there is.
func setMetrics(l *loader, s *settings, n *node) {
	hint := ""
	if n.IsScalar() && !n.IsNull() && !n.IsBool() {
		hint = "write {textfile: " + yamldoc.Shorten(n.Value) + "}"
	}
	if !l.RequireMapping(n, l.Key, hint) {
		return
	}
	metricsKeys.Decode(l, s.Schedule, n, 0)
	if n.IsEmpty() {
		l.Problemf(n, "write {textfile: PATH}", "metrics has no textfile")
	}
}

// Leases are renewed three times in their life, each time with seconds to spare for a slow network.
const (
	defaultLease = time.Minute
	minLease     = 5 * time.Second
)

// setStore reads one URL or a list of them. A single empty URL, as of ${STORE_URL:-}, means no
// store.
func setStore(l *loader, s *settings, n *node) {
	if !l.RefuseEmptyList(n, "leave the key out for locks on this machine alone") {
		return
	}
	var servers []string
	ok := n.Each(func(item *node) bool {
		url, ok := l.Secret(item)
		if url == "" && ok {
			if n.IsList() {
				l.Problemf(item, "", "an empty server in store")
			} else {
				l.RefuseEmptied(item, url, "if a machine may have no store")
			}
			return false
		}
		servers = append(servers, url)
		return ok
	})
	if ok {
		s.Store.Servers = servers
	}
}

// checkStore checks the keys around the store against each other, and the URLs.
func checkStore(l *loader, s settings, root *node) {
	store, lease := root.Lookup("store"), root.Lookup("lease")
	if lease != nil && store == nil {
		l.Problemf(lease, "add `store:`; the locks of one machine need no lease", "lease does nothing without a store")
	}
	if len(s.Store.Servers) == 0 {
		return
	}
	if s.ownName == "" {
		l.Problemf(store, "add `name:`; servers that share a store meet under the name of their schedule",
			"a store needs a name")
	}
	if l.options.CheckStore == nil {
		return
	}
	if text, hint := l.options.CheckStore(s.Store.Servers); text != "" {
		l.Problemf(store, hint, "%s", text)
	}
}

// maxSeats bounds a pool, because a run that looks for a free seat looks at each seat.
const maxSeats = 1000

// setPools reads a mapping from the names of pools to their seats.
func setPools(l *loader, s *settings, n *node) {
	if !l.RequireMapping(n, l.Key, "") {
		return
	}
	for name, value := range yamldoc.NamedPairs(l.Reader, n) {
		// The pool is known even if its limit is wrong, so that its tasks are not refused, too.
		pool := schedule.Pool{Name: name.Value, Seats: 1}
		if requireName(l.Reader, name, name.Value) {
			l.Key = "pools." + yamldoc.Shorten(name.Value)
			if seats, ok := l.Integer(value, 1, maxSeats); ok {
				pool.Seats = seats
			}
		}
		s.Pools, s.poolNames = append(s.Pools, pool), append(s.poolNames, name)
	}
}

// warnOfUnusedPools warns of pools that no task has. names are the nodes with their names.
func warnOfUnusedPools(l *loader, names []*node) {
	for i, pool := range l.schedule.Pools {
		hasPool := func(t *schedule.Task) bool { return t.Pool.Name == pool.Name }
		if !slices.ContainsFunc(l.schedule.Tasks, hasPool) {
			l.Warnf(names[i], "add `pool: "+yamldoc.Shorten(pool.Name)+"` to the tasks that it is for",
				"no task has the pool %s", yamldoc.Quote(pool.Name))
		}
	}
}

// readPool reads the name of a pool, which the top of the file must have.
func readPool(l *loader, n *node) (schedule.Pool, bool) {
	text, ok := readName(l.Reader, n)
	if !ok {
		return schedule.Pool{}, false
	}
	i := slices.IndexFunc(l.schedule.Pools, func(p schedule.Pool) bool { return p.Name == text })
	if i >= 0 {
		return l.schedule.Pools[i], true
	}
	var names []string
	for _, pool := range l.schedule.Pools {
		names = append(names, pool.Name)
	}
	hint := yamldoc.DidYouMean(l.Nearest(text, names))
	if hint == "" {
		hint = "add `pools: {" + yamldoc.Shorten(text) +
			": 1}` at the top of the file, with how many of its runs may go on at once"
	}
	l.Problemf(n, hint, "pool %s is not among the pools of the file", yamldoc.Quote(text))
	return schedule.Pool{}, false
}

// setAssertions reads the assertions of the file. Whether they hold is for sched check. No task is
// wrong because an assertion is.
func setAssertions(l *loader, s *settings, n *node) {
	n.Each(func(item *node) bool {
		text, ok := l.NonEmptyText(item)
		if !ok {
			return false
		}
		if err := assertion.Check(text); err != nil {
			examples := strings.Join(assertion.Forms(), "; ")
			hint := "write one like these: " + examples + "; other lengths are 90s, 30m, 1h30m and 14d"
			l.Problemf(item, hint, "%s", err)
			l.wrong.problems++
			return false
		}
		s.Assertions = append(s.Assertions, schedule.Assertion{Text: text, Place: l.PlaceOf(item)})
		return true
	})
}

// setPauses reads the pauses that the file plans. Whether it has their tasks and tags is for
// settlePauses.
func setPauses(l *loader, s *settings, n *node) {
	n.Each(func(item *node) bool {
		if !l.RequireMapping(item, "an entry of pauses", pauseForms) {
			return false
		}
		before := l.ProblemCount()
		var p pauseDraft
		pauseKeys.Decode(l, &p, item, 0)
		p.Place = l.PlaceOf(item)
		setPauseTimes(l, &p, item)
		if l.ProblemCount() == before {
			s.Pauses, s.pauseEntries = append(s.Pauses, &p.Pause), append(s.pauseEntries, item)
		}
		return true
	})
}

// setPauseTimes sets when a pause is: from and until or for, or every and for.
func setPauseTimes(l *loader, p *pauseDraft, n *node) {
	p.When.Location = l.schedule.Location
	if !checkPauseKeys(l, p, n) {
		return
	}
	switch {
	case p.every != nil:
		setPauseEvery(l, p)
	case p.from != (moment{}):
		p.From, p.Until = p.from.in(l.schedule.Location), p.until.in(l.schedule.Location)
		if p.For > 0 {
			p.Until = p.From.Add(p.For)
		}
		if p.until != (moment{}) && !p.From.Before(p.Until) {
			l.Problemf(n.Lookup("until"), "make until later than from",
				"until contradicts from, which is not before it")
		}
	}
}

// pauseForms is the hint for an entry of pauses that says no time.
const pauseForms = "write from and until, or every and for, as in {every: sunday at 2:00, for: 4h}"

// checkPauseKeys refuses keys that do not say when a pause begins and how long it lasts, or that
// say it twice.
func checkPauseKeys(l *loader, p *pauseDraft, n *node) bool {
	has := func(keys ...string) bool { return slices.ContainsFunc(keys, n.Has) }
	switch {
	case has("every") && has("from", "until"):
		l.Problemf(firstOf(n, "from", "until"), pauseForms,
			"a pause with every comes again, and has neither from nor until")
	case has("until") && has("for"):
		l.Problemf(n.Lookup("for"), "keep one of the two", "until and for of a pause cannot both be given")
	case !has("from", "every"):
		l.Problemf(n, pauseForms, "a pause does not say when it begins")
	case !has("until", "for"):
		hint := pauseForms
		if p.every != nil {
			hint = pauseHint(p.every.Value)
		}
		l.Problemf(n, hint, "a pause does not say how long it lasts")
	default:
		return true
	}
	return false
}

// pauseHint says how to write a pause that comes again. In "sunday at 2:00 for 4h" the length
// stands in the wrong key.
func pauseHint(every string) string {
	if words, length, ok := strings.Cut(every, " for "); ok {
		return "write {every: " + yamldoc.Shorten(words) + ", for: " + yamldoc.Shorten(length) + "}"
	}
	return pauseForms
}

// setPauseEvery sets the beginnings of a pause that comes again.
func setPauseEvery(l *loader, p *pauseDraft) {
	text := p.every.Value
	crons, err := every.Parse(text)
	if cronError, ok := errors.AsType[*cron.Error](err); ok {
		hint := cronError.Hint
		if isBoot(text, "boot") || strings.Contains(text, " for ") {
			hint = pauseHint(text)
		}
		l.Problemf(p.every, hint, "every %s: %v", yamldoc.Quote(text), err)
	}
	p.Every, p.Zone = text, l.schedule.Location.String()
	p.When.Crons, p.When.Every = crons, text
}

// settlePauses gives the tasks their pauses, and refuses pauses of tasks and tags that are not in
// the schedule.
func settlePauses(l *loader, entries []*node) {
	var names, tags []string
	for _, t := range l.schedule.Tasks {
		names, tags = append(names, t.Name), append(tags, t.Tags...)
	}
	for i, p := range l.schedule.Pauses {
		requireKnown(l, entries[i], "tasks", "there is no task %s", p.Tasks, names)
		requireKnown(l, entries[i], "tags", "no task has the tag %s", p.Tags, tags)
	}
	l.schedule.AssignPauses()
}

// requireKnown refuses words of a key that are not among the known ones.
func requireKnown(l *loader, n *node, key, format string, words, known []string) {
	for _, word := range words {
		if !slices.Contains(known, word) {
			l.Problemf(n.Lookup(key), yamldoc.DidYouMean(l.Nearest(word, known)), format, yamldoc.Quote(word))
		}
	}
}

var historyKeys = keys[schedule.History]{Rows: func() []key[schedule.History] {
	return []key[schedule.History]{
		row("keep", replaces(func(h *schedule.History) *time.Duration { return &h.Keep }, durationFrom(time.Minute)),
			"how long runs are kept", is{Of: "duration", Default: "30d", Example: "90d"}),
		row("keep_failures",
			replaces(func(h *schedule.History) *time.Duration { return &h.KeepFailures }, durationFrom(time.Minute)),
			"how long failures are kept, and counted apart from successes",
			is{Of: "duration", Without: "as long as successes, and counted with them", Example: "180d"}),
		row("runs_per_task",
			replaces(func(h *schedule.History) *int { return &h.RunsPerTask }, integerTo(1, yamldoc.NoLimit)),
			"how many runs of a task are kept",
			is{Of: "integer", Least: 1, Most: yamldoc.NoLimit, Default: "1000", Example: "200"}),
	}
}}

var metricsKeys = keys[schedule.Schedule]{Rows: func() []key[schedule.Schedule] {
	return []key[schedule.Schedule]{
		row("textfile", replaces(func(s *schedule.Schedule) *string { return &s.Textfile }, readTextfile),
			"the file that each tick writes", is{Of: "path", Example: "/var/lib/node_exporter/textfile/shop.prom"}),
	}
}}

// A pauseDraft is an entry of pauses while it is read.
type pauseDraft struct {
	schedule.Pause
	from, until moment
	every       *node
}

var pauseKeys = keys[pauseDraft]{Rows: func() []key[pauseDraft] {
	return []key[pauseDraft]{
		row("from", replaces(func(p *pauseDraft) *moment { return &p.from }, readMoment),
			"when it begins, in the zone of the file", is{Of: "moment", Example: "2026-12-24 18:00"}),
		row("until", replaces(func(p *pauseDraft) *moment { return &p.until }, readMoment),
			"when it ends", is{Of: "moment", Example: "2026-12-27"}),
		row("every", by(func(l *loader, p *pauseDraft, n *node) {
			if _, ok := l.NonEmptyText(n); ok {
				p.every = n
			}
		}), "when it begins again and again, in words, in the zone of the file",
			is{Of: "every", Example: "sunday at 2:00", NoFalse: true}),
		row("for",
			replaces(func(p *pauseDraft) *time.Duration { return &p.For },
				durationTo(time.Minute, 366*24*time.Hour, "a year")),
			"how long it lasts", is{Of: "duration", Example: "4h"}),
		row("tasks",
			replaces(func(p *pauseDraft) *[]string { return &p.Tasks },
				someOf("leave the key out for all tasks", readName)),
			"the tasks that it is for", is{Of: "names", Without: "with tags neither: all tasks", Example: "[import]"}),
		row("tags",
			replaces(func(p *pauseDraft) *[]string { return &p.Tags },
				someOf("leave the key out for all tasks", readTag)),
			"the tags of the tasks that it is for", is{Of: "someWords", Example: "[database]"}),
		row("stop", replaces(func(p *pauseDraft) *bool { return &p.Stop }, (*reader).Bool),
			"whether the runs are stopped that go on when it begins",
			is{Of: "flag", Default: "false", Example: "true"}),
		row("reason", replaces(func(p *pauseDraft) *string { return &p.Reason }, readDescription),
			"why", is{Of: "remark", Example: "backup of the database"}),
	}
}}
