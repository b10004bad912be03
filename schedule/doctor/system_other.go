//go:build !linux

package doctor

// clockIsSynchronised: this system is not asked.
func clockIsSynchronised() (synchronised, known bool) { return false, false }

// networkFileSystem: this system is not asked.
func networkFileSystem(string) string { return "" }
