package outbox

import (
	"crypto/sha256"
	"fmt"
	"strings"
)

// hookHash names a hook of a task in 16 characters that are fit for a file name.
func hookHash(task, hook string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(task+"\x00"+hook)))[:16]
}

// Name names the delivery of a hook of a run, or with start the one about the start of that run. The same arguments give
// the same name, so that a finish that begins again finds what the one before it left.
func Name(task, hook, run string, start bool) string {
	part := "1"
	if start {
		part = "0"
	}
	return hookHash(task, hook) + "-" + run + "-" + part
}

// hookOf returns the part of a delivery's name that stands for its hook.
func hookOf(name string) string { return name[:min(len(name), 16)] }

// RunOf returns the id of the run in a delivery's name.
func RunOf(name string) string {
	return strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(name, hookOf(name)+"-"), "-0"), "-1")
}
