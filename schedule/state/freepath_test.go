package state

import (
	"strings"
	"testing"
)

// A path whose state nobody can find out, here because its name is too long, was tried for ever.
func TestFreePathEndsWhenItCannotLook(t *testing.T) {
	path := t.TempDir() + "/" + strings.Repeat("x", 300)
	if got := freePath(path); got != path {
		t.Error(got)
	}
}
