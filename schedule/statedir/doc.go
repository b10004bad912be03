// Package statedir has what all files in a state folder need: who may own the folder, file locks
// with a bound, and writes that a kill leaves done or undone.
//
// It knows no file by name but the folder itself; only the package that owns a file knows what it
// holds.
//
// It is our own because no library does what runs need. Other programs must inherit the descriptor
// of a lock, and the wait for it must have a bound: rogpeppe/go-internal/lockedfile waits for ever
// and keeps the descriptor. A draft must have one name, so that many kills leave one draft:
// google/renameio makes a new name for each draft.
package statedir
