// Package load makes a schedule of schedule.yaml and what it includes.
//
// File and Text return a schedule.Schedule that is valid and complete. A file with a mistake makes none, but an InvalidError
// with every problem at its place. Archive makes the same schedule again of the text that Schedule.Archive returned.
//
// The package is pure but for reading files, and only those that it is named: it runs no processes, opens no connections and
// reads no clock. What it must know of the world, it has from Options. Whether a user, a program or a server exists is not its
// concern.
//
// It begins in load.go. keys.go has every key of the file and subkeys.go those of mappings inside of it; the other files say
// what a value makes of those that are inherited, and check one value against another. A value alone is read by package
// values. YAML itself, with places, problems, ${VAR} and tables of keys, is the concern of schedule/document.
package load
