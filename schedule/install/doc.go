// Package install puts the one line of a schedule into a crontab, /etc/cron.d or units of systemd,
// and takes it out again.
//
// # Promises
//
//   - No byte of a line that is not ours changes, except in lines of a crontab that are commented
//     out on request. Uninstall restores these lines as they were.
//   - A crontab is replaced as a whole, by crontab(1): after a kill at any moment it is the old one
//     or the new one. A copy of the old one is kept before the change. The new crontab is read
//     back, and the change is undone if it reads differently.
//   - Several schedules live in one crontab: each line carries a mark made from the path of its
//     schedule.
//
// It asks nobody and prints nothing: that is for its caller.
package install
