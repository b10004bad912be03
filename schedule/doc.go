// Package schedule is the model of schedule.yaml: what the rest of the program knows of it.
//
// Package schedule/load makes a Schedule of files. A Schedule is valid and complete: code that has
// one checks nothing again.
//
// The package is pure: it runs no processes, opens no connections and reads no clock, and no files
// but those that a notification names as ${file:PATH} (Notification.Expanded). Whether a user, a
// program or a server exists is not its concern.
package schedule
