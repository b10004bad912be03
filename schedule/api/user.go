package api

import (
	"io"
	"log"
	"os/user"
	"strconv"
)

// userName is the login name of a user, or "user 1000" for one without.
func userName(uid int) string {
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		return u.Username
	}
	return "user " + strconv.Itoa(uid)
}

// quiet is where net/http tells of connections that ended oddly: anybody could fill a disk with that.
func quiet() *log.Logger { return log.New(io.Discard, "", 0) }
