package crontab

import "strings"

// IsFileName reports whether Debian's cron reads a file of /etc/cron.d with this name: letters,
// digits, _ and - alone. So it leaves out what editors and packages leave there, such as job.bak
// and job.dpkg-old.
func IsFileName(name string) bool {
	return name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == ""
}
