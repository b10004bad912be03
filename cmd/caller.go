package cmd

import (
	"os"
	"os/user"
	"strconv"
)

// caller names the person who calls, for the history.
func caller() string {
	if name := os.Getenv("SUDO_USER"); name != "" {
		return name
	}
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "user " + strconv.Itoa(os.Getuid())
}

// hostname is the name of this machine; tests give it several.
var hostname = os.Hostname
