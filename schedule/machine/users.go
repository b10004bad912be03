package machine

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// Ask runs a program and returns what it prints.
type Ask func(ctx context.Context, program string, arguments ...string) ([]byte, error)

// An account is a user of the machine.
type account struct {
	name, home string
	uid        int
}

// nobody is the uid of a name that no user has.
const nobody = -1

// accounts are the users of the machine by name: all of /etc/passwd, and of a directory the users
// that a job names.
type accounts map[string]account

func readAccounts(f *files) accounts {
	passwd, _ := f.read("/etc/passwd")
	all := accounts{}
	for line := range strings.Lines(passwd.text) {
		all.add(line)
	}
	return all
}

// add adds the user of a line of passwd(5).
func (a accounts) add(line string) {
	fields := strings.Split(strings.TrimSpace(line), ":")
	if len(fields) < 7 {
		return
	}
	if uid, err := strconv.Atoi(fields[2]); err == nil {
		a[fields[0]] = account{name: fields[0], home: fields[5], uid: uid}
	}
}

// nameOf returns the name of a uid, or the uid as a text.
func (a accounts) nameOf(uid int) string {
	name := ""
	for _, one := range a {
		if one.uid == uid && (name == "" || one.name < name) {
			name = one.name
		}
	}
	if name == "" {
		return strconv.Itoa(uid)
	}
	return name
}

// has reports whether there is a user of that name or number. It asks the directories of the
// machine (getent) for a name that is not in /etc/passwd.
func (a accounts) has(ctx context.Context, ask Ask, name string) bool {
	if known, ok := a[name]; ok {
		return known.uid != nobody
	}
	if uid, err := strconv.Atoi(name); err == nil {
		return a.nameOf(uid) != name
	}
	if ask == nil {
		return false
	}
	line, err := ask(ctx, "getent", "passwd", name)
	a.add(string(line))
	_, ok := a[name]
	failed, isExit := errors.AsType[*exec.ExitError](err)
	if !ok && (err == nil || isExit && failed.ExitCode() == 2) { // there is no such user
		a[name] = account{uid: nobody} // asked once
		return false
	}
	return true
}

// sorted returns the users by name.
func (a accounts) sorted() []account {
	return slices.SortedFunc(maps.Values(a), func(x, y account) int { return cmp.Compare(x.name, y.name) })
}
