package mutex

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"time"

	"sched/schedule/statedir"
)

// claimHour names the folder of the claims that end in one hour (UTC). The names sort by time.
const claimHour = "2006-01-02T15"

// Claim makes a file that only one run can make. The files of one hour share a folder.
func (f Files) Claim(_ context.Context, key string, until time.Time, holder Holder) error {
	err := f.claim(key, until, holder)
	if f.Lenient && statedir.Unwritable(err) {
		return nil
	}
	return err
}

// claim makes the claim at holder.Since.
func (f Files) claim(key string, until time.Time, holder Holder) error {
	path := f.claimPath(key, until)
	folder := filepath.Dir(path)
	if err := makeHour(folder, holder.Since); err != nil {
		return err
	}
	text, err := json.Marshal(holder)
	if err != nil {
		return err
	}
	// link(2) makes the claim with its content or not at all: a claim cannot be half written.
	draft := filepath.Join(folder, ".draft-"+holder.Run)
	defer os.Remove(draft)
	if err := os.WriteFile(draft, text, 0o600); err != nil {
		return err
	}
	err = os.Link(draft, path)
	if !errors.Is(err, os.ErrExist) {
		return err
	}
	if claimant := claimantAt(path); claimant.Run != holder.Run {
		return &HeldError{Name: key, Holder: claimant}
	}
	return nil
}

// Claimed returns who has claimed a key; until must be the time that claims of the key give.
func (f Files) Claimed(key string, until time.Time) (holder Holder, claimed bool, err error) {
	path := f.claimPath(key, until)
	if _, err = os.Stat(path); err == nil {
		return claimantAt(path), true, nil
	}
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return Holder{}, false, err
}

func (f Files) claimPath(key string, until time.Time) string {
	return filepath.Join(f.Dir, "claims", until.UTC().Format(claimHour), fileName(key))
}

// makeHour makes the folder of an hour. If the folder is new, makeHour sweeps the folders of the
// other hours.
func makeHour(folder string, now time.Time) error {
	claims := filepath.Dir(folder)
	if err := statedir.MakeDir(claims); err != nil {
		return err
	}
	if err := os.Mkdir(folder, 0o700); errors.Is(err, os.ErrExist) {
		return nil
	} else if err != nil {
		return err
	}
	hours, err := os.ReadDir(claims)
	for _, hour := range hours {
		if path := filepath.Join(claims, hour.Name()); path != folder {
			sweepHour(path, now)
		}
	}
	return err
}

// outOfDate is a file with the time at which its folder was first found to be out of date.
const outOfDate = ".out-of-date"

// sweepHour removes the folder of an hour that ended two hours ago, and that was found out of date
// an hour ago or earlier. So a clock that is wrong for a moment takes no claims away.
func sweepHour(folder string, now time.Time) {
	mark := filepath.Join(folder, outOfDate)
	if filepath.Base(folder) >= now.UTC().Add(-2*time.Hour).Format(claimHour) {
		os.Remove(mark) // a clock that was wrong has left the mark
		return
	}
	text, _ := statedir.ReadFile(mark)
	marked, err := time.Parse(time.RFC3339, string(text))
	switch {
	case err != nil || marked.After(now): // there is no mark, or a clock that was wrong has left it
		os.WriteFile(mark, now.UTC().AppendFormat(nil, time.RFC3339), 0o600)
	case now.Sub(marked) >= time.Hour:
		os.RemoveAll(folder)
	}
}

// claimantAt reads the file of a claim. The holder of a file that cannot be read is empty.
func claimantAt(path string) Holder {
	text, _ := statedir.ReadFile(path)
	return HolderOf(text)
}
