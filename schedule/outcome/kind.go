package outcome

// A Kind says what code must know of why a run has its outcome; empty if the outcome says enough.
// People read the words beside it (a reason), and no code does.
type Kind string

const (
	Elsewhere Kind = "elsewhere"  // skipped: another tick, here or on another server, has the slot
	StoreDown Kind = "store down" // skipped: nobody knows whether another server runs the slot
	Timeout   Kind = "timeout"    // the command is being ended: the attempt took longer than timeout
	TickEnded Kind = "tick ended" // the command is being ended: its supervisor was told to end
)
