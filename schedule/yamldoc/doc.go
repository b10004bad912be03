// Package yamldoc reads YAML files into nodes with a place, and the nodes into values.
//
// It reports all mistakes of a file at once, each at its line and column: a Reader collects
// Problems and goes on. It reads no file that root could not trust, resolves aliases and merge keys
// within bounds, expands ${VAR}, refuses unknown and repeated keys, and keeps the text of each
// file.
//
// The Tables of the caller say which keys there are. Only this package uses yaml.v3.
package yamldoc
