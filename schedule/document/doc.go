// Package document reads YAML files into nodes with a place, and the nodes into values.
//
// Its goal is that each mistake of a file is reported at its line and column, in words for people, and all of them at
// once: a Reader collects Problems and goes on. It reads files that root can trust, puts in place aliases and merge
// keys, expands ${VAR}, refuses unknown and repeated keys with the nearest that may stand there, and keeps the text of
// each file that was read.
//
// It knows no schedule: which keys there are and what they mean is said by the Tables of its caller. It writes no
// YAML. It is the only user of yaml.v3, whose errors and types never leave it.
package document
