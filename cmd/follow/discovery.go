package follow

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sched/schedule/outcome"
)

// A discovery finds the outputs of all runs of a state folder that begin after it was made.
type discovery struct {
	dir     string
	firstID string                // older runs have smaller ids
	folders map[string]taskFolder // by path
}

// newFiles returns the outputs that came since the last call. It reads a folder again if the
// folder's time has changed or is less than a second old: files may come within one tick of the
// file system's clock.
func (d *discovery) newFiles() (files []*followedFile) {
	tasks, _ := os.ReadDir(d.dir)
	for _, task := range tasks {
		path := filepath.Join(d.dir, task.Name())
		info, err := os.Stat(path)
		if err != nil {
			continue
		}
		before, changed := d.folders[path], info.ModTime()
		if changed.Equal(before.changed) && time.Since(changed).Abs() >= time.Second {
			continue
		}
		outputs, err := d.outputsIn(path)
		if err != nil {
			continue
		}
		after := taskFolder{changed: changed, paths: map[string]bool{}}
		for _, output := range outputs {
			after.paths[output.path] = true
			if !before.paths[output.path] {
				files = append(files, output)
			}
		}
		d.folders[path] = after
	}
	return files
}

// outputsIn returns the outputs in the folder of a task, the oldest run first. The hooks of a run
// come after its command, because most hooks do.
func (d *discovery) outputsIn(path string) (outputs []*followedFile, err error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	task := strings.ReplaceAll(filepath.Base(path), "+", "/") // see output.Path
	for _, entry := range entries {
		id, isLog := strings.CutSuffix(entry.Name(), ".log")
		stream := ofCommand
		if run, ok := strings.CutSuffix(id, ".hooks"); ok {
			id, stream = run, ofHooks
		}
		if isLog && id >= d.firstID {
			outputs = append(outputs, newFollowedFile(filepath.Join(path, entry.Name()), task, id, stream))
		}
	}
	slices.SortFunc(outputs, func(a, b *followedFile) int {
		return strings.Compare(strings.TrimSuffix(a.path, ".log"), strings.TrimSuffix(b.path, ".log"))
	})
	return outputs, nil
}

// A taskFolder has the outputs of the runs of a task.
type taskFolder struct {
	changed time.Time       // its time at the last look
	paths   map[string]bool // of its outputs at the last look
}

func Discover(stateDir string) *discovery {
	return &discovery{
		dir:     filepath.Join(stateDir, "output"),
		firstID: outcome.NewID(),
		folders: map[string]taskFolder{},
	}
}
