package app

import (
	"errors"
	"os"

	"sched/schedule/load"
)

// WriteNew writes a file that must not be there yet, whole or not at all.
func WriteNew(path, text string, mode os.FileMode) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	if err := errors.Join(err, file.Close()); err != nil {
		os.Remove(path)
		return err
	}
	return nil
}

// SchemaLines are the first lines of a schedule.yaml that sched writes.
var SchemaLines = load.Modeline(load.SchemaFile) + "\n" +
	"# `sched schema -o " + load.SchemaFile + "` writes that file, for editors.\n"
