// Package vixie says at which minutes Vixie cron, as Debian has it (3.0pl1), starts a line of a crontab.
//
// It is there to check schedule/cron, the package that decides when tasks run, so it shares nothing with that: neither
// code nor a library, and not even the idea. schedule/cron searches the wall clock for times and maps these to instants;
// this package does what the main loop of cron(8) does, minute by minute wherever the clocks change, with its "virtual
// time" that never runs twice. A test holds that it imports the standard library alone.
//
// It is pure: time and zone are arguments.
package vixie
