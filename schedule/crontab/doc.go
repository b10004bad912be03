// Package crontab brings crontabs to sched. It reads one as cron does (Parse), writes its lines as
// the tasks of a schedule.yaml (Convert, Schedule.YAML), proves that both are due at the same
// minutes (Prove), and writes a schedule as a crontab (Export).
//
// # Promises
//
//   - What a command is to its shell is kept byte for byte, unless Tidy was asked for; Prove
//     compares that, too.
//   - A line either becomes a task or is left with a Finding that says why. None is dropped in
//     silence.
//   - Names depend on a line and the lines before it alone, so lines that are added below change
//     none.
//   - It is pure: it opens no file, runs nothing and reads no clock.
//
// It installs nothing: see package install. anacrontab(5) and run-parts(8) are not crontabs.
package crontab
