//go:build !linux

package state

// onNetwork is not known on this system. WAL mode is always tried, and is not used if SQLite
// refuses it.
func onNetwork(string) bool { return false }
