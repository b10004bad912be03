package preflight

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sched/schedule"
)

// A Release is a state folder inside a release: Link is on the way to the schedule, and a deploy
// will move it, such as current -> releases/2.
type Release struct {
	Link, Target string // Target has no symbolic links
	state        string // the state folder, relative to both
	file         string // the schedule
}

// ReleaseOf returns the release that holds the state folder of the schedule. It returns nil if no
// symbolic link is on the way, or if the state folder is elsewhere.
//
// Links in the root folder (/var on macOS) and links to a folder of the same name elsewhere
// (/home/ann -> /data/ann) are no links of a deploy.
func ReleaseOf(s *schedule.Schedule) *Release {
	resolved, err := filepath.EvalSymlinks(FirstExisting(s.StateDir))
	if err != nil {
		return nil
	}
	for link := filepath.Dir(s.File); filepath.Dir(link) != "/" && link != "/"; link = filepath.Dir(link) {
		info, err := os.Lstat(link)
		if err != nil || info.Mode()&os.ModeSymlink == 0 {
			continue
		}
		target, err := filepath.EvalSymlinks(link)
		state, isBelow := strings.CutPrefix(s.StateDir, link+"/")
		if err != nil || !isBelow || !isIn(resolved, target) {
			continue
		}
		r := &Release{Link: link, Target: target, state: state, file: s.File}
		if r.isBesideOthers() || filepath.Base(link) != filepath.Base(target) {
			return r
		}
	}
	return nil
}

// isIn reports whether a path is a folder, or in it.
func isIn(path, folder string) bool { return path == folder || strings.HasPrefix(path, folder+"/") }

// isBesideOthers reports whether the release is below the folder of its link, as with Capistrano.
func (r *Release) isBesideOthers() bool {
	folder, err := filepath.EvalSymlinks(filepath.Dir(r.Link))
	return err == nil && isIn(r.Target, folder)
}

// IsNew reports whether no tick has come in the release yet.
func (r *Release) IsNew() bool {
	_, err := os.Stat(filepath.Join(r.Target, r.state, "sched.db"))
	return errors.Is(err, fs.ErrNotExist)
}

// LeftBehind returns the state folder of another release, the one in which the last tick came. It
// returns "" if no other release has one.
func (r *Release) LeftBehind() (newest string) {
	if !r.isBesideOthers() {
		return "" // what is beside it may be other schedules
	}
	releases, _ := os.ReadDir(filepath.Dir(r.Target))
	var latest time.Time
	for _, entry := range releases {
		folder := filepath.Join(filepath.Dir(r.Target), entry.Name())
		if folder == r.Target || !entry.IsDir() {
			continue
		}
		state := filepath.Join(folder, r.state)
		info, err := os.Stat(filepath.Join(state, "sched.db"))
		if err == nil && info.ModTime().After(latest) {
			newest, latest = state, info.ModTime()
		}
	}
	return newest
}

// Problem says that the next deploy leaves the state folder behind.
func (r *Release) Problem() schedule.Problem {
	p := schedule.Problem{
		Place: schedule.Place{File: filepath.Base(r.file)},
		Text: fmt.Sprintf("the state folder is in the release to which the link %s leads: a deploy that moves "+
			"the link leaves history, pauses and locks behind, and what still runs starts once more", r.Link),
		Hint: r.Hint(),
	}
	if left := r.LeftBehind(); left != "" {
		p.Text += "; " + left + " was left behind"
	}
	return p
}

// Hint says which state folder stays: beside the link, or in the folder that deploys share.
func (r *Release) Hint() string {
	folder := filepath.Dir(r.Link)
	if info, err := os.Stat(filepath.Join(folder, "shared")); err == nil && info.IsDir() {
		folder = filepath.Join(folder, "shared")
	}
	folder = filepath.Join(folder, r.state)
	if relative, err := filepath.Rel(filepath.Dir(r.file), folder); err == nil {
		folder = relative
	}
	return "write `state_dir: " + folder + "`, which all releases share; " +
		"a state folder is moved there while nothing runs (docs/control.md#a-deploy)"
}
