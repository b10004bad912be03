package doctor

// processesAbove returns nothing: the processes above this one are not known here.
func processesAbove() []string { return nil }

// processes returns nil: they are not known here.
func processes() map[string]bool { return nil }

// clockIsSynchronised: this system is not asked.
func clockIsSynchronised() (synchronised, known bool) { return false, false }

// networkFileSystem: this system is not asked.
func networkFileSystem(string) string { return "" }
