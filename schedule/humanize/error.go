package humanize

import (
	"errors"
	"io/fs"
)

// WithoutPath returns err without its path, for a message that has the path already.
func WithoutPath(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
