// Package schedule is the model of schedule.yaml: what the rest of the program knows of it.
//
// A Schedule is a list of Tasks, each with when, what and under which conditions it runs. It is valid and complete; code that
// has one checks nothing again. Package schedule/load makes one of files, and nobody else does.
//
// The package is pure: it runs no processes, opens no connections and reads no clock. Time is an argument of everything. It
// reads no files but those that a notification names as ${file:PATH} (Notification.Expanded). Whether a user, a program or a
// server exists is not its concern, and neither is what became of a run. It knows no YAML: it has places, problems and the
// expansion of ${VAR} from package document, and instants from package cron.
package schedule
