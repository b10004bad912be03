// Package values reads the values of keys of schedule.yaml one at a time: names, zones, times of the day, days, commands, variables.
//
// A reader returns false after a wrong value, and records the problem with the yamldoc.Reader.
// Package load checks what depends on other keys, levels or files.
package values
