// Package load makes a schedule of schedule.yaml and what it includes.
//
// File and Text return a schedule.Schedule that is valid and complete, or an InvalidError with
// every problem at its place. Archive makes the schedule of the text that Schedule.Archive
// returned. Schema writes the JSON Schema by which editors check such a file.
//
// The package runs no processes, opens no connections and reads no clock. It opens only the files
// that it is named. Options say what it must know of the world.
//
// The reading begins in load.go. keys.go has every key and subkeys.go the keys of mappings; other
// files read values and check them against each other. schedule/yamldoc reads YAML.
//
// A function that takes a yamldoc.Reader reads the value of one key, as far as it depends on no
// other key. It returns false after a wrong value, and records the problem with the Reader.
package load
