package statedir

import (
	"fmt"
	"time"
)

// Exclusively does something that only one process may do in the folder at a time. It waits for others for some seconds, and makes the
// folder where there is none.
func Exclusively(dir string, do func() error) error {
	if err := MakeDir(dir); err != nil {
		return err
	}
	folder, err := OpenDir(dir)
	if err != nil {
		return err
	}
	defer folder.Close()
	const patience = 5 * time.Second
	if err := LockWithin(folder, patience); err != nil {
		return fmt.Errorf("another process keeps %s locked: %w", dir, err)
	}
	return do()
}
