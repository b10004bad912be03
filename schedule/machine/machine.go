// Package machine lists the jobs of a machine: each command that is started there at some time,
// whoever starts it. It reads crontabs, the folders of run-parts, anacrontab, timers of systemd,
// and the jobs of at. It changes nothing.
//
// It trusts nothing that it reads (see files). Other programs are asked by way of Host, so that a
// test can have a whole machine in a folder.
package machine

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"sched/schedule/humanize"
	"sched/schedule/preflight"
)

// Look lists the jobs of a machine, in the order of the places: crontabs, anacron, timers, at. The
// error says that the machine has no files.
func Look(ctx context.Context, h Host) (*List, error) {
	s, err := newSurvey(ctx, h)
	if err != nil {
		return nil, err
	}
	defer s.files.root.Close()
	listCrontabs(s)
	listTimers(s)
	listAnacron(s)
	listAt(s)
	slices.SortStableFunc(s.list.Jobs, func(a, b Job) int { return a.Kind.order() - b.Kind.order() })
	setLastOfCron(s)
	for i := range s.list.Jobs {
		if j := &s.list.Jobs[i]; j.Off == "" && j.next != nil {
			j.Next = humanize.UTCOrNil(j.next(h.Now))
		}
	}
	notePrograms(s)
	noteTwins(s)
	noteDaemon(s)
	s.list.Debian = s.debian
	s.list.Users = slices.Sorted(maps.Keys(s.users))
	for _, j := range s.list.Jobs {
		s.list.Users = append(s.list.Users, j.User)
	}
	return s.list, nil
}

func newSurvey(ctx context.Context, h Host) (*survey, error) {
	all, err := openFiles(h.Root, "", h.Root0)
	if err != nil {
		return nil, err
	}
	return &survey{Host: h, ctx: ctx, files: all, users: readAccounts(all),
		systemd: all.has("/run/systemd/system"),
		debian:  all.has("/usr/sbin/cron") && !all.has("/usr/sbin/crond"),
		list:    &List{Jobs: []Job{}, Odd: []Oddity{}, LeftOut: []string{}}}, nil
}

// IgnoredFiles returns why cron ignores crontabs of a machine, by their paths. Those that are not
// read are not among them.
func IgnoredFiles(ctx context.Context, h Host) (why map[string]string, err error) {
	s, err := newSurvey(ctx, h)
	if err != nil {
		return nil, err
	}
	defer s.files.root.Close()
	listCrontabs(s)
	why = map[string]string{}
	for _, odd := range s.list.Odd {
		if reason, is := strings.CutPrefix(odd.Text, ignoresFile); is {
			why[odd.Place] = reason
		}
	}
	return why, nil
}

// setLastOfCron sets when lines were last started, as the journal says.
func setLastOfCron(s *survey) {
	if s.Ask == nil || !s.systemd {
		return
	}
	text, _ := s.Ask(s.ctx, "journalctl", "--quiet", "--reverse", "--lines=20000", "--output=short-unix",
		"--identifier=CRON", "--identifier=CROND", "--identifier=crond")
	type start struct{ user, command string }
	last := map[start]time.Time{}
	for line := range strings.Lines(string(text)) {
		if found := started().FindStringSubmatch(strings.TrimSuffix(line, "\n")); found != nil {
			key := start{found[2], strings.TrimSpace(found[3])}
			if seconds, err := time.ParseDuration(found[1] + "s"); err == nil && last[key].IsZero() {
				last[key] = time.Unix(0, 0).Add(seconds)
			}
		}
	}
	for i := range s.list.Jobs {
		if j := &s.list.Jobs[i]; j.line != "" {
			j.SetLast(last[start{j.User, j.line}].Truncate(time.Second), "journal")
		}
	}
}

// started matches the line that cron writes when it starts a line of a crontab.
var started = humanize.Pattern(`^(\d+)\.\d+ \S+ \S+: \((.+?)\) CMD \((.*)\)$`)

// notePrograms notes commands whose program is not there.
func notePrograms(s *survey) {
	for _, j := range s.list.Jobs {
		if j.Off != "" || j.Kind != Cron && j.Kind != Timer && j.Kind != Anacron {
			continue
		}
		name := preflight.FirstProgram(j.Command)
		switch {
		case path.IsAbs(name) && !s.files.has(name):
			s.odd(j.Place, j.User, "", "there is no %s", name)
		case name != "" && !strings.Contains(name, "/") && j.path != "":
			inFolder := func(folder string) bool { return s.files.has(path.Join(folder, name)) }
			if !slices.ContainsFunc(strings.Split(j.path, ":"), inFolder) {
				s.odd(j.Place, j.User, "write its whole path, or set PATH above the line",
					"there is no program %s in %s", name, j.path)
			}
		}
	}
}

// noteTwins notes jobs that do the same as a job before them: the same user starts the same command
// at the same times, or by another program.
func noteTwins(s *survey) {
	type does struct{ user, command string }
	first := map[does][]Job{}
	for _, j := range s.list.Jobs {
		if j.Off != "" || j.Command == "" || j.Kind == At {
			continue
		}
		key := does{j.User, strings.Join(strings.Fields(j.Command), " ")}
		for _, other := range first[key] {
			sameTime := j.When == other.When || j.Next != nil && other.Next != nil && j.Next.Equal(other.Next.Time)
			if sameTime || j.Kind != other.Kind {
				s.odd(j.Place, j.User, "", "it does the same as %s", other.Place)
				break
			}
		}
		first[key] = append(first[key], j)
	}
}

// noteDaemon notes that no cron runs, if there are lines for it.
func noteDaemon(s *survey) {
	if s.RunningCron == nil {
		return
	}
	if name, known := s.RunningCron(); name != "" || !known {
		return
	}
	lines := 0
	for _, j := range s.list.Jobs {
		if (j.Kind == Cron || j.Kind == RunParts) && j.Off == "" {
			lines++
		}
	}
	if lines > 0 {
		s.list.Odd = append([]Oddity{{Text: fmt.Sprintf("no cron runs on this machine: %s will not start",
			humanize.Count(lines, "job")), Hint: "systemctl start cron, or crond"}}, s.list.Odd...)
	}
}
