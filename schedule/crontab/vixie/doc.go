// Package vixie says at which minutes Vixie cron, as Debian has it (3.0pl1), starts a line of a
// crontab.
//
// It checks schedule/cron, so it shares neither code nor a library nor the idea with it: it follows
// the main loop of cron(8), with its "virtual time" that never runs twice, minute by minute at
// changes of the clocks. It imports the standard library alone, and is pure.
package vixie
