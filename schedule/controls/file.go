package controls

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"sched/schedule/statedir"
)

// lockPatience bounds the wait for another process that changes the controls: it takes milliseconds.
const lockPatience = 2 * time.Second

func path(state string) string { return filepath.Join(state, "orders.json") }

// ReadFile returns the controls in the state folder: of a machine that stands alone (of is empty),
// or the copy for the schedule called of. It returns none if there is no such file.
func ReadFile(state, of string, now time.Time) (Controls, error) {
	text, err := statedir.ReadFile(path(state))
	if errors.Is(err, os.ErrNotExist) {
		return Controls{Of: of}, nil
	}
	if err != nil {
		return Controls{Of: of}, err
	}
	var controls Controls
	if err := json.Unmarshal(text, &controls); err != nil {
		return Controls{Of: of}, fmt.Errorf("%s cannot be read, so nothing is paused; remove it", path(state))
	}
	if controls.Of != of {
		return Controls{Of: of}, nil
	}
	if controls.Interrupt.By != "" {
		controls.Interrupt.Age = now.Sub(controls.Interrupt.At)
	}
	return controls, nil
}

// ChangeFile replaces the controls in the state folder by what change makes of them, unless nothing
// changes. A kill or a power cut leaves the old file or the new one; no other change is lost.
func ChangeFile(state, of string, now time.Time, change func(*Controls) (changed bool)) error {
	if err := statedir.MakeDir(state); err != nil {
		return err
	}
	folder, err := statedir.OpenDir(state)
	if err != nil {
		return err
	}
	defer folder.Close()
	if err := statedir.LockWithin(folder, lockPatience); err != nil {
		return fmt.Errorf("another process keeps %s locked: %w", state, err)
	}
	controls, err := ReadFile(state, of, now)
	if of != "" {
		err = nil // a copy that cannot be read is made anew
	}
	if err != nil || !change(&controls) {
		return err
	}
	text, err := json.Marshal(controls)
	if err != nil {
		return err
	}
	return statedir.Replace(path(state), append(text, '\n'))
}
