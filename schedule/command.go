package schedule

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
	return append(append([]string(nil), c.Shell...), c.Line)
}

// As says as whom the commands and hooks of a task run, and with what umask and priority. What is
// empty or nil is inherited from the process of sched. Whether a user exists depends on the
// machine, so nothing is looked up here.
type As struct {
	User  string `json:"user,omitempty"`  // a name or a uid
	Group string `json:"group,omitempty"` // a name or a gid; empty: the group of the user
	Umask *int   `json:"umask,omitempty"` // 0 to 0o777
	Nice  *int   `json:"nice,omitempty"`  // -20 to 19, as getpriority(2) counts
}
