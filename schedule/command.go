package schedule

import "slices"

// A Command is what a task or a hook runs: a list is run as it is, a line is given to the shell.
type Command struct {
	Line  string   `json:"line,omitempty"`
	Shell []string `json:"shell,omitempty"` // of Line
	List  []string `json:"list,omitempty"`
}

// Argv returns the program and its arguments.
func (c Command) Argv() []string {
	if len(c.List) > 0 {
		return c.List
	}
	return slices.Concat(c.Shell, []string{c.Line})
}
