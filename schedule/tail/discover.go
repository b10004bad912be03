package tail

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"sched/schedule/outcome"
)

// A Discovery finds the outputs of all runs of a state folder that begin after it was made.
type Discovery struct {
	dir     string
	since   string // the ids of runs sort by the time they were made
	folders map[string]*folder
}

type folder struct {
	changed time.Time
	known   map[string]bool // the names that were there at the last look
}

// Discover begins to look for outputs in the state folder.
func Discover(dir string) *Discovery {
	return &Discovery{dir: filepath.Join(dir, "output"), since: outcome.NewID(), folders: map[string]*folder{}}
}

// In adds what has come to the follower. A folder is read again when its time has changed, or was
// that of a moment ago: files may come within one tick of the clock of the file system.
func (d *Discovery) In(f *Follower) {
	tasks, err := os.ReadDir(d.dir)
	if err != nil {
		return
	}
	for _, task := range tasks {
		path := filepath.Join(d.dir, task.Name())
		info, err := os.Stat(path)
		if err != nil || !info.IsDir() {
			continue
		}
		at := d.folders[task.Name()]
		if at == nil {
			at = &folder{}
			d.folders[task.Name()] = at
		}
		if !info.ModTime().Equal(at.changed) || time.Since(info.ModTime()).Abs() < time.Second {
			at.changed = info.ModTime()
			at.read(f, path, strings.ReplaceAll(task.Name(), "+", "/"), d.since)
		}
	}
}

func (at *folder) read(f *Follower, path, task, since string) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return
	}
	known := map[string]bool{}
	for _, entry := range entries {
		name := entry.Name()
		id, isLog := strings.CutSuffix(name, ".log")
		id, isHooks := strings.CutSuffix(id, ".hooks")
		if !isLog || id < since {
			continue
		}
		known[name] = true
		if !at.known[name] {
			f.add(task, id, filepath.Join(path, name), isHooks)
		}
	}
	at.known = known
}
