//go:build !linux

package state

// onNetwork is not known. WAL mode is tried everywhere, and is not used where the system refuses
// it.
func onNetwork(string) bool { return false }
