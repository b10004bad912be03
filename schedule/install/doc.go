// Package install puts the one line of a schedule into a crontab, /etc/cron.d or units of systemd,
// and takes it out again.
//
// # Promises
//
//   - No byte of a line that is not ours changes, but for lines of a crontab that are commented out
//     on request, which
//     Uninstall restores as they were.
//   - A crontab is replaced as a whole, by crontab(1): killed at any moment it is the old one or
//     the new one. A copy of the
//     old one is kept before; what was written is read back, and undone where it reads differently.
//   - Several schedules live in one crontab: each line carries a mark made from the path of its
//     schedule.
//
// It asks nobody and prints nothing: that is for its caller.
package install
