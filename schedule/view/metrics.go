package view

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/statedir"
)

const (
	gauge   = "gauge"
	counter = "counter"
)

// taskFamilies are the metrics of each task with one value. A value that is not known has no
// sample: a 0 would be a time in 1970.
var taskFamilies = []struct {
	name, help string
	value      func(t *TaskHealth, now time.Time) (value float64, known bool)
}{
	{"sched_task_running_runs", "Runs that live.",
		func(t *TaskHealth, _ time.Time) (float64, bool) { return float64(len(t.Running)), true }},
	{"sched_task_next_due_timestamp_seconds", "When the task is due next.",
		func(t *TaskHealth, now time.Time) (float64, bool) {
			next, ok := t.When.Next(now)
			return seconds(next), ok
		}},
	{"sched_task_last_run_timestamp_seconds", "When the last run ended.",
		func(t *TaskHealth, _ time.Time) (float64, bool) { return seconds(t.Last.Ended), t.Last.ID != "" }},
	{"sched_task_last_run_warning", "1 when the last run succeeded with a warning, else 0.",
		func(t *TaskHealth, _ time.Time) (float64, bool) {
			mayWarn := len(t.WarnCodes) > 0 || !t.Judge.IsEmpty()
			return oneIf(t.Last.Warned()), mayWarn && t.Last.ID != ""
		}},
	{"sched_task_last_run_exit_code", "The exit code of the last run.",
		func(t *TaskHealth, _ time.Time) (float64, bool) {
			if t.Last.ExitCode == nil {
				return 0, false
			}
			return float64(*t.Last.ExitCode), true
		}},
	{"sched_task_last_run_duration_seconds", "How long the last run took.",
		func(t *TaskHealth, _ time.Time) (float64, bool) {
			return t.Last.Duration().Seconds(), !t.Last.Started.IsZero()
		}},
	{"sched_task_last_run_lateness_seconds", "How long after its slot the last run started.",
		func(t *TaskHealth, _ time.Time) (float64, bool) {
			return t.Last.Lateness().Seconds(), !t.Last.Started.IsZero()
		}},
	{"sched_task_last_success_timestamp_seconds", "When the last success ended.",
		func(t *TaskHealth, _ time.Time) (float64, bool) { return seconds(t.Success), !t.Success.IsZero() }},
	{"sched_task_overdue", "1 while less came than expect says, else 0.",
		func(t *TaskHealth, _ time.Time) (float64, bool) {
			return oneIf(len(t.Overdue) > 0), t.Expect != (schedule.Expect{})
		}},
}

// Metrics returns the status in the text format of Prometheus, as its node exporter reads files:
// https://prometheus.io/docs/instrumenting/exposition_formats/. Each series has the label schedule,
// because a machine may have several. We write the lines ourselves: see
// docs/internals/decisions.md#metrics-without-the-library-of-prometheus.
func Metrics(h *Health) []byte {
	m := &metrics{schedule: h.Schedule.Name}
	m.begin("sched_last_tick_timestamp_seconds", gauge, "The last minute that a tick covered.")
	if !h.LastTick.IsZero() {
		m.sample(seconds(h.LastTick))
	}
	m.begin("sched_schedule_valid", gauge, "1, or 0 when the file is invalid and something else runs in its place.")
	m.sample(oneIf(!h.Invalid))
	m.begin("sched_tasks", gauge, "The tasks that are active here.")
	m.sample(float64(len(h.Tasks)))
	m.begin("sched_troubles", gauge, "How many troubles sched status tells of tasks.")
	m.sample(float64(len(h.Troubles)))
	m.begin("sched_notifications_waiting", gauge, "Notifications that could not be delivered yet.")
	m.sample(float64(h.Undelivered.Count))
	if len(h.Schedule.Store.Servers) > 0 {
		m.begin("sched_store_up", gauge, "1, or 0 when the last tick found the store to be down, with the reason.")
		if h.Outage == nil {
			m.sample(1)
		} else {
			m.sample(0, label{"reason", h.Outage.Why})
		}
	}
	poolMetrics(h, m)
	taskMetrics(h, m)
	return m.out.Bytes()
}

func poolMetrics(h *Health, m *metrics) {
	if len(h.Schedule.Pools) == 0 {
		return
	}
	taken := map[string]float64{}
	for _, t := range h.Tasks {
		for _, row := range t.Running {
			if name, ok := mutex.PoolOf(row.Seat); ok {
				taken[name]++
			}
		}
	}
	m.begin("sched_pool_seats", gauge, "How many runs of a pool may go on at once.")
	for _, p := range h.Schedule.Pools {
		m.sample(float64(p.Seats), label{"pool", p.Name})
	}
	m.begin("sched_pool_seats_taken", gauge, "Seats of a pool that runs of this machine have.")
	for _, p := range h.Schedule.Pools {
		m.sample(taken[p.Name], label{"pool", p.Name})
	}
}

func taskMetrics(h *Health, m *metrics) {
	for _, f := range taskFamilies {
		m.begin(f.name, gauge, f.help)
		for i := range h.Tasks {
			if value, known := f.value(&h.Tasks[i], h.At); known {
				m.sample(value, label{"task", h.Tasks[i].Name})
			}
		}
	}
	m.begin("sched_task_last_run_outcome", gauge, "1 for the outcome of the last run.")
	for _, t := range h.Tasks {
		if t.Last.ID != "" {
			m.sample(1, label{"task", t.Name}, label{"outcome", string(t.Last.Outcome)})
		}
	}
	m.begin("sched_task_value", gauge, "The values that the last run reported.")
	for _, t := range h.Tasks {
		for _, v := range ReportedBy(t.Task, t.Last.Values) {
			m.sample(v.Number, label{"task", t.Name}, label{"value", v.Rule.Name})
		}
	}
	m.begin("sched_task_slots_total", counter, "Slots by what became of them.")
	for _, t := range h.Tasks {
		for _, total := range t.Totals {
			m.sample(float64(total.Slots), label{"task", t.Name}, label{"outcome", string(total.Outcome)})
		}
	}
}

func seconds(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }

func oneIf(holds bool) float64 {
	if holds {
		return 1
	}
	return 0
}

// metrics is the text of metrics that is being written.
type metrics struct {
	out      bytes.Buffer
	schedule string
	family   string // the name of the family of the next samples
}

// A label is one of the labels of a sample.
type label struct{ name, value string }

// begin begins a family of samples.
func (m *metrics) begin(name, kind, help string) {
	m.family = name
	m.out.WriteString("# HELP " + name + " " + help + "\n# TYPE " + name + " " + kind + "\n")
}

// sample writes a sample of the family. The label of the schedule comes first.
func (m *metrics) sample(value float64, labels ...label) {
	m.out.WriteString(m.family + `{schedule="` + escape.Replace(m.schedule) + `"`)
	for _, l := range labels {
		m.out.WriteString("," + l.name + `="` + escape.Replace(l.value) + `"`)
	}
	m.out.WriteString("} ")
	m.out.Write(strconv.AppendFloat(m.out.AvailableBuffer(), value, 'f', -1, 64))
	m.out.WriteByte('\n')
}

// escape quotes the value of a label as the format demands.
var escape = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// WriteTextfile replaces the file at path; readers see the old text or the new one. Everybody may
// read the file. The draft lies beside it, under a name that does not end in .prom. All processes
// lock one draft: a process that finds it locked returns nil, because the other process's text is
// as new. A kill leaves at most one draft. Nothing is synced, because a new text comes a minute
// later.
func WriteTextfile(path string, text []byte) error {
	draft, err := lockDraft(filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".new"))
	if draft == nil || err != nil {
		return err
	}
	defer draft.Close()
	err = draft.Truncate(0)
	if err == nil {
		_, err = draft.Write(text)
	}
	if err == nil {
		err = draft.Chmod(0o644) // whatever the umask
	}
	if err == nil {
		err = os.Rename(draft.Name(), path)
	}
	if err != nil {
		os.Remove(draft.Name())
	}
	return err
}

// RivalTextfile returns another file in the folder of the schedule's textfile with metrics of the
// same name of a schedule. The node exporter then shows some series of one and none of the other,
// and reports no error. It returns "" if there is no such file.
func RivalTextfile(s *schedule.Schedule) (path string) {
	files, _ := filepath.Glob(filepath.Join(filepath.Dir(s.Textfile), "*.prom"))
	ours := []byte("\nsched_schedule_valid{schedule=\"" + escape.Replace(s.Name) + "\"} ")
	for _, path := range files {
		if filepath.Base(path) != filepath.Base(s.Textfile) && bytes.Contains(headOf(path), ours) {
			return path
		}
	}
	return ""
}

// headOf returns the beginning of a file, in which our metrics have the name of their schedule. It
// is empty if the file cannot be read.
func headOf(path string) []byte {
	file, err := statedir.OpenPlain(path, os.O_RDONLY)
	if err != nil {
		return nil
	}
	defer file.Close()
	head, _ := io.ReadAll(io.LimitReader(file, 2<<10))
	return head
}

// lockDraft opens the draft and locks it. The returned file is nil while another process has the
// draft. The exporter's user may own the folder and can put anything there. So lockDraft removes a
// file that is not ours alone, and never writes it.
func lockDraft(path string) (*os.File, error) {
	for range 10 { // somebody may put a file there again and again
		draft, err := statedir.OpenLocked(path, os.O_WRONLY|os.O_CREATE|unix.O_NOFOLLOW)
		switch {
		case errors.Is(err, statedir.ErrLocked):
			return nil, nil
		case errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("there is no folder %s", filepath.Dir(path))
		case errors.As(err, new(*statedir.NotPlainError)), errors.Is(err, unix.ELOOP):
			// It is not ours: remove it below, and try again.
		case err != nil:
			return nil, err
		default:
			if info, err := draft.Stat(); err == nil && isOursAlone(info) {
				return draft, nil
			}
			draft.Close()
		}
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%s: %w", path, fs.ErrExist)
}

// isOursAlone reports whether a file is ours and has no second name.
func isOursAlone(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return !ok || int(stat.Uid) == os.Geteuid() && stat.Nlink == 1
}
