// Package account finds the users and groups of this machine, and makes this process another user:
// for good, as a command of a task needs it, or for one call. It also says what of an environment
// another user may know.
package account

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"sched/schedule"
)

// An Account is the user and the groups of a command.
type Account struct {
	Name   string // for people
	Given  bool   // the task names the user, not only a group
	UID    int
	Change bool // this process must become the user (Become)
	gid    int
	groups []int // supplementary
	home   string
}

// ErrNotRoot says that this process cannot become another user. The text of such an error begins
// with it.
var ErrNotRoot = errors.New("only root can run")

// Of looks up the user and the group of a task on this machine. The error says what is wrong with
// them, or that this process may not change to them.
//
// A program without cgo, as sched is when it is static, finds the users of /etc/passwd and
// /etc/group, but not the users of LDAP. Such users can be given as numbers: a number needs no
// entry.
func Of(as schedule.As) (Account, error) {
	if as.User == "" && as.Group == "" {
		return Account{}, nil
	}
	name := as.User
	if name == "" {
		name = strconv.Itoa(os.Geteuid())
	}
	a, err := ByName(name, as.Group == "")
	if err != nil {
		return Account{}, err
	}
	a.Given = as.User != ""
	if as.Group != "" {
		if a.gid, err = groupID(as.Group); err != nil {
			return Account{}, err
		}
	}
	switch {
	case os.Geteuid() == 0:
		a.Change = true
	case a.UID != os.Geteuid():
		return Account{}, fmt.Errorf("%w a task as user %q, and sched runs as %s", ErrNotRoot, as.User, ownName())
	case a.gid != os.Getegid():
		return Account{}, fmt.Errorf("%w a task with group %q: sched runs as %s with gid %d",
			ErrNotRoot, as.Group, ownName(), os.Getegid())
	}
	return a, nil
}

// ByName finds a user by name, or else by number. A user without an entry has no groups.
func ByName(name string, needsGroup bool) (Account, error) {
	u, err := user.Lookup(name)
	uid, isNumber := number(name)
	if err != nil && isNumber {
		u, err = user.LookupId(name)
	}
	switch {
	case err == nil:
	case !isNumber && noEntry(err):
		return Account{}, fmt.Errorf("user %q does not exist on this machine", name)
	case !noEntry(err):
		return Account{}, fmt.Errorf("user %q cannot be looked up: %w", name, err)
	case needsGroup && os.Geteuid() != uid:
		const format = "user %s has no entry in /etc/passwd, and so no group: the task needs `group`"
		return Account{}, fmt.Errorf(format, name)
	default:
		return Account{Name: name, UID: uid, gid: os.Getegid(), home: "/"}, nil
	}
	a := Account{Name: u.Username, home: u.HomeDir}
	a.UID, _ = strconv.Atoi(u.Uid)
	a.gid, _ = strconv.Atoi(u.Gid)
	ids, err := u.GroupIds()
	if err != nil && !noEntry(err) {
		return Account{}, fmt.Errorf("the groups of %q cannot be looked up: %w", name, err)
	}
	for _, id := range ids {
		if gid, ok := number(id); ok {
			a.groups = append(a.groups, gid)
		}
	}
	return a, nil
}

// groupID finds a group by name, or else by number.
func groupID(name string) (int, error) {
	g, err := user.LookupGroup(name)
	if err == nil {
		name = g.Gid
	}
	if gid, ok := number(name); ok {
		return gid, nil
	}
	if noEntry(err) {
		return 0, fmt.Errorf("group %q does not exist on this machine", name)
	}
	return 0, fmt.Errorf("group %q cannot be looked up: %w", name, err)
}

// number reads a uid or gid. The last one is (uid_t)-1, which to the kernel means: no change.
func number(text string) (int, bool) {
	n, err := strconv.ParseUint(text, 10, 32)
	return int(n), err == nil && n < 1<<32-1
}

// noEntry reports whether there is no such entry, also because there is no such file, as in a
// container made from scratch.
func noEntry(err error) bool {
	var name user.UnknownUserError
	var id user.UnknownUserIdError
	var group user.UnknownGroupError
	return errors.As(err, &name) || errors.As(err, &id) || errors.As(err, &group) || errors.Is(err, os.ErrNotExist)
}

// ownName names the user of this process.
func ownName() string {
	uid := strconv.Itoa(os.Geteuid())
	if u, err := user.LookupId(uid); err == nil {
		return u.Username
	}
	return "uid " + uid
}

// Become changes this process to the account, for good.
func (a Account) Become() error {
	if !a.Change {
		return nil
	}
	if err := syscall.Setgroups(a.supplementary()); err != nil {
		return err
	}
	if err := syscall.Setgid(a.gid); err != nil {
		return err
	}
	return syscall.Setuid(a.UID)
}

// supplementary returns the groups of the account; its only group counts as one.
func (a Account) supplementary() []int {
	if len(a.groups) == 0 {
		return []int{a.gid}
	}
	return a.groups
}

// nobodysGroup is for a user without an entry in /etc/passwd, who has no group.
const nobodysGroup = 65534

// byNumber returns the account of the user with a number, who needs no entry.
func byNumber(uid int) (Account, error) {
	u, err := user.LookupId(strconv.Itoa(uid))
	if err != nil && !noEntry(err) {
		return Account{}, fmt.Errorf("user %d cannot be looked up: %w", uid, err)
	}
	a := Account{Name: strconv.Itoa(uid), UID: uid, gid: nobodysGroup, home: "/"}
	if err == nil {
		a, err = ByName(u.Username, true)
	} else {
		err = nil
	}
	a.Given, a.Change = true, true
	return a, err
}

// BecomeUser makes this process, which is root's, another user for good, as login(1) does. The
// caller sets the environment that it returns (userEnviron). The kernel lets that user neither
// trace this process nor read its memory (PR_SET_DUMPABLE in prctl(2)), so the terminal of root
// stays out of reach. That ends with execve(2): the process must start no other one.
func BecomeUser(uid int, env []string, keep ...string) ([]string, error) {
	a, err := byNumber(uid)
	if err == nil {
		err = a.Become()
	}
	refuseTraces()
	return a.userEnviron(env, keep), err
}

// Variables returns what cron sets for a user: HOME, USER and LOGNAME as the account has
// them, and SHELL.
func Variables(uid int) ([]string, error) {
	a, err := byNumber(uid)
	if err != nil {
		return nil, err
	}
	return append(a.Variables(), "SHELL=/bin/sh"), nil
}

// userEnviron returns the part of an environment that the user may know: MachineVariables, and the
// variables named in keep; with the variables of the account.
func (a Account) userEnviron(env, keep []string) []string {
	return slices.Concat(MachineVariables(env, keep...), a.Variables())
}

// AsUser calls do with the rights of another user (WithRights). env of do is the environment that
// BecomeUser would return.
func AsUser(uid int, env, keep []string, do func(env []string)) error {
	a, err := byNumber(uid)
	if err != nil {
		return err
	}
	return a.WithRights(func() { do(a.userEnviron(env, keep)) })
}

// WithRights calls do while this process, which is root's, has the rights of the account, and none
// of its own. do must start no process: it could become root again. If this process has no need to
// change (Change), it only calls do.
func (a Account) WithRights(do func()) error {
	if !a.Change {
		do()
		return nil
	}
	own, err := syscall.Getgroups()
	if err != nil {
		return err
	}
	const unchanged = -1
	back := func() error {
		return errors.Join(syscall.Setreuid(unchanged, 0), syscall.Setregid(unchanged, 0), syscall.Setgroups(own))
	}
	err = errors.Join(syscall.Setgroups(a.supplementary()), syscall.Setregid(unchanged, a.gid))
	if err == nil {
		err = syscall.Setreuid(unchanged, a.UID)
	}
	if err == nil {
		do()
	}
	return errors.Join(err, back())
}

// Variables returns the variables that login(1) and cron set for a user.
func (a Account) Variables() []string {
	if !a.Given {
		return nil
	}
	return []string{"HOME=" + a.home, "USER=" + a.Name, "LOGNAME=" + a.Name}
}

// IsVariable reports whether a NAME=value is one of Account.Variables.
func IsVariable(pair string) bool {
	name, _, _ := strings.Cut(pair, "=")
	return name == "HOME" || name == "USER" || name == "LOGNAME"
}

// Give makes a file belong to the user and the group of a task.
func Give(file *os.File, as schedule.As) error {
	a, err := Of(as)
	if err != nil || !a.Change {
		return err
	}
	return file.Chown(a.UID, a.gid)
}

// MachineVariables returns the variables of an environment that say how the machine is set up:
// where programs are (PATH), the zone (TZ) and the language (LANG, LANGUAGE, LC_…). Programs of
// another user, and programs that need nothing of sched, get only these: among the others there may
// be secrets (docs/internals/decisions.md#another-user-gets-what-the-schedule-names). Variables
// with the names of more are kept, too.
func MachineVariables(env []string, more ...string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		switch name {
		case "PATH", "TZ", "LANG", "LANGUAGE":
			return false
		}
		return !strings.HasPrefix(name, "LC_") && !slices.Contains(more, name)
	})
}
