package mutex

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"sched/schedule/statedir"
)

// claimHour names the folder of the claims that end in one hour (UTC). The names sort by time.
const claimHour = "2006-01-02T15"

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
