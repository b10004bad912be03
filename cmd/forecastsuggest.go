package cmd

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sched/schedule"
	"sched/schedule/forecast"
	"sched/schedule/forecast/report"
	"sched/schedule/load"
	"sched/schedule/text"
)

// suggest prints a diff of the schedule's files with other minutes, at which fewer runs are at once, and what comes of it to stderr.
func (a forecastCommand) suggest(in *report.Inputs) error {
	files := map[string]*editedFile{}
	places := map[*schedule.Task]whenPlace{}
	for _, t := range in.Schedule.Tasks {
		if place, ok := findWhen(t, in.Schedule, files); ok {
			places[t] = place
		}
	}
	moves := forecast.Spread(in.Input, func(t *schedule.Task) bool { return places[t].line > 0 })
	edited := edit(moves, places)
	if edited == 0 {
		a.problem("no other minutes were found at which fewer runs are at once: only background tasks are moved that have one minute of their own")
		return nil
	}
	better, err := a.reload(in, files, moves)
	if err != nil {
		return err
	}
	before, after := forecast.Foresee(in.Input), forecast.Foresee(better.Input)
	if after.Peak.Most >= before.Peak.Most || after.Troubles() > before.Troubles() || after.LateRuns() > before.LateRuns() {
		a.problem("no other minutes were found at which fewer runs are at once, and none is late or skipped for it")
		return nil
	}
	out := a.stdout()
	for _, path := range sortedFiles(files) {
		for _, line := range files[path].diff(relative(path, in.Schedule)) {
			fmt.Fprintln(a.out, paintDiff(out, line))
		}
	}
	a.problem("at most %s at once instead of %d: %s another minute of the same hour, in the same order",
		text.Count(int(after.Peak.Most), "run"), before.Peak.Most, getting(edited))
	flag := ""
	if a.config != "" {
		flag = " -c " + filepath.Base(in.Schedule.File)
	}
	fmt.Fprintf(a.err, "hint: in %s: sched forecast%s --suggest | patch -p0\n", filepath.Dir(in.Schedule.File), flag)
	return nil
}

func getting(tasks int) string {
	if tasks == 1 {
		return "1 task gets"
	}
	return fmt.Sprintf("%d tasks get", tasks)
}

// reload reads the schedule as it would be, and makes sure that the tasks that were moved, and no others, are due at other times.
func (a forecastCommand) reload(in *report.Inputs, files map[string]*editedFile, moves []forecast.Move) (*report.Inputs, error) {
	options := a.options()
	options.Texts = map[string][]byte{}
	for path, file := range files {
		options.Texts[path] = []byte(strings.Join(file.lines, ""))
	}
	s, err := load.File(in.Schedule.File, options)
	if err != nil {
		return nil, fmt.Errorf("the suggestion is no valid schedule, which is a mistake of sched: %w", err)
	}
	for i, t := range in.Schedule.Tasks {
		want := t.When.String()
		if j := slices.IndexFunc(moves, func(m forecast.Move) bool { return m.Task == t }); j >= 0 {
			want = moves[j].Cron
		}
		if i >= len(s.Tasks) || s.Tasks[i].Name != t.Name || s.Tasks[i].When.String() != want {
			return nil, fmt.Errorf("the suggestion changes more than it should, which is a mistake of sched: task %s", t.Name)
		}
	}
	return in.Of(s), nil
}

// edit writes the new minutes into the files, and returns how many.
func edit(moves []forecast.Move, places map[*schedule.Task]whenPlace) (n int) {
	for _, m := range moves {
		if place := places[m.Task]; place.write(m) {
			n++
		}
	}
	return n
}

func sortedFiles(files map[string]*editedFile) (paths []string) {
	for path := range files {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return paths
}

// relative is the path of a file as patch finds it from the folder of the schedule.
func relative(path string, s *schedule.Schedule) string {
	if rel, err := filepath.Rel(filepath.Dir(s.File), path); err == nil {
		return rel
	}
	return path
}

// An editedFile is a file of the schedule, as it is and as it would be. Lines have their ends.
type editedFile struct {
	old, lines []string
}

func readFile(path string) (*editedFile, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	lines := strings.SplitAfter(string(raw), "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return &editedFile{lines, slices.Clone(lines)}, nil
}

// diffContext is how many lines around a change a diff shows.
const diffContext = 3

// diff returns the lines of a unified diff, without their ends; none where nothing changed. No line was added or removed.
func (f *editedFile) diff(name string) (diff []string) {
	for i := 0; i < len(f.lines); i++ {
		if f.lines[i] == f.old[i] {
			continue
		}
		first, last := max(0, i-diffContext), i
		for j := i; j < min(len(f.lines), last+2*diffContext+1); j++ {
			if f.lines[j] != f.old[j] {
				last = j
			}
		}
		end := min(len(f.lines), last+diffContext+1)
		if diff == nil {
			diff = []string{"--- " + name, "+++ " + name}
		}
		diff = append(diff, fmt.Sprintf("@@ -%d,%d +%[1]d,%[2]d @@", first+1, end-first))
		diff = append(diff, f.hunk(first, end)...)
		i = end - 1
	}
	return diff
}

// hunk returns the lines from first to end: of neighbours that changed, all as they were before all as they would be.
func (f *editedFile) hunk(first, end int) (diff []string) {
	add := func(sign, line string) {
		diff = append(diff, sign+strings.TrimSuffix(line, "\n"))
		if !strings.HasSuffix(line, "\n") {
			diff = append(diff, `\ No newline at end of file`)
		}
	}
	for i := first; i < end; {
		changed := i
		for changed < end && f.lines[changed] != f.old[changed] {
			changed++
		}
		for j := i; j < changed; j++ {
			add("-", f.old[j])
		}
		for j := i; j < changed; j++ {
			add("+", f.lines[j])
		}
		if i = changed; i < end {
			add(" ", f.old[i])
			i++
		}
	}
	return diff
}
