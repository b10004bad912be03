// Package document reads YAML files into nodes with a place, and the nodes into values.
//
// Its goal is that each mistake of a file is reported at its line and column, in words for people, and all of them at
// once: a Reader collects Problems and goes on. It reads no file that root could not trust, resolves aliases and merge
// keys within bounds, expands ${VAR}, refuses unknown and repeated keys and proposes the nearest, and keeps the text of
// each file that it read.
//
// It knows no key: which ones there are and what they set is up to the Tables of its caller. (Some of its messages speak
// of schedules and tasks, since those are what people write.) It writes no YAML. It is the only user of yaml.v3, whose
// errors never leave it.
package document
