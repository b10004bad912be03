// Package statedir has what all files in a state folder need: who may own the folder, file locks
// with a bound, and writes that a kill leaves done or undone.
//
// It knows no file by name but the folder itself; what a file holds is for the package that owns
// it.
//
// It is our own since no library does what runs need: the descriptor of a lock must be inherited by
// other programs and the wait for it must have a bound (rogpeppe/go-internal/lockedfile waits for
// ever and keeps the descriptor), and a draft must have one name, so that a kill leaves one and not
// one more each time (google/renameio makes a new name for each).
package statedir
