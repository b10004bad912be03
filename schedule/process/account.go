package process

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/user"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"sched/schedule"
	"sched/schedule/envfile"
	"sched/schedule/humanize"
	"sched/schedule/mask"
)

// An account is the user and the groups of a command.
type account struct {
	name     string // for people
	given    bool   // the task names the user, not only a group
	uid, gid int
	groups   []int // supplementary
	home     string
	change   bool // this process must become the user (become)
}

// ErrNotRoot says that this process cannot become another user. The text of such an error begins
// with it.
var ErrNotRoot = errors.New("only root can run")

// accountOf looks up the user and the group of a task on this machine. The error says what is wrong
// with them, or that this process may not change to them.
//
// A program without cgo, as sched is when it is static, finds the users of /etc/passwd and
// /etc/group, but not the users of LDAP. Such users can be given as numbers: a number needs no
// entry.
func accountOf(as schedule.As) (account, error) {
	if as.User == "" && as.Group == "" {
		return account{}, nil
	}
	name := as.User
	if name == "" {
		name = strconv.Itoa(os.Geteuid())
	}
	a, err := userAccount(name, as.Group == "")
	if err != nil {
		return account{}, err
	}
	a.given = as.User != ""
	if as.Group != "" {
		if a.gid, err = groupID(as.Group); err != nil {
			return account{}, err
		}
	}
	switch {
	case os.Geteuid() == 0:
		a.change = true
	case a.uid != os.Geteuid():
		return account{}, fmt.Errorf("%w a task as user %q, and sched runs as %s", ErrNotRoot, as.User, ownName())
	case a.gid != os.Getegid():
		return account{}, fmt.Errorf("%w a task with group %q: sched runs as %s with gid %d",
			ErrNotRoot, as.Group, ownName(), os.Getegid())
	}
	return a, nil
}

// userAccount finds a user by name, or else by number. A user without an entry has no groups.
func userAccount(name string, needsGroup bool) (account, error) {
	u, err := user.Lookup(name)
	uid, isNumber := number(name)
	if err != nil && isNumber {
		u, err = user.LookupId(name)
	}
	switch {
	case err == nil:
	case !isNumber && noEntry(err):
		return account{}, fmt.Errorf("user %q does not exist on this machine", name)
	case !noEntry(err):
		return account{}, fmt.Errorf("user %q cannot be looked up: %w", name, err)
	case needsGroup && os.Geteuid() != uid:
		const format = "user %s has no entry in /etc/passwd, and so no group: the task needs `group`"
		return account{}, fmt.Errorf(format, name)
	default:
		return account{name: name, uid: uid, gid: os.Getegid(), home: "/"}, nil
	}
	a := account{name: u.Username, home: u.HomeDir}
	a.uid, _ = strconv.Atoi(u.Uid)
	a.gid, _ = strconv.Atoi(u.Gid)
	ids, err := u.GroupIds()
	if err != nil && !noEntry(err) {
		return account{}, fmt.Errorf("the groups of %q cannot be looked up: %w", name, err)
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

// become changes this process to the account, for good.
func (a account) become() error {
	if !a.change {
		return nil
	}
	if err := syscall.Setgroups(a.supplementary()); err != nil {
		return err
	}
	if err := syscall.Setgid(a.gid); err != nil {
		return err
	}
	return syscall.Setuid(a.uid)
}

// supplementary returns the groups of the account; its only group counts as one.
func (a account) supplementary() []int {
	if len(a.groups) == 0 {
		return []int{a.gid}
	}
	return a.groups
}

// nobodysGroup is for a user without an entry in /etc/passwd, who has no group.
const nobodysGroup = 65534

// accountOfNumber returns the account of the user with a number, who needs no entry.
func accountOfNumber(uid int) (account, error) {
	u, err := user.LookupId(strconv.Itoa(uid))
	if err != nil && !noEntry(err) {
		return account{}, fmt.Errorf("user %d cannot be looked up: %w", uid, err)
	}
	a := account{name: strconv.Itoa(uid), uid: uid, gid: nobodysGroup, home: "/"}
	if err == nil {
		a, err = userAccount(u.Username, true)
	} else {
		err = nil
	}
	a.given, a.change = true, true
	return a, err
}

// BecomeUser makes this process, which is root's, another user for good, as login(1) does. The
// caller sets the environment that it returns (userEnviron). The kernel lets that user neither
// trace this process nor read its memory (PR_SET_DUMPABLE in prctl(2)), so the terminal of root
// stays out of reach. That ends with execve(2): the process must start no other one.
func BecomeUser(uid int, env []string, keep ...string) ([]string, error) {
	a, err := accountOfNumber(uid)
	if err == nil {
		err = a.become()
	}
	refuseTraces()
	return a.userEnviron(env, keep), err
}

// AccountVariables returns what cron sets for a user: HOME, USER and LOGNAME as the account has
// them, and SHELL.
func AccountVariables(uid int) ([]string, error) {
	a, err := accountOfNumber(uid)
	if err != nil {
		return nil, err
	}
	return append(a.variables(), "SHELL=/bin/sh"), nil
}

// userEnviron returns the part of an environment that the user may know: MachineVariables, and the
// variables named in keep; with the variables of the account.
func (a account) userEnviron(env, keep []string) []string {
	return slices.Concat(MachineVariables(env, keep...), a.variables())
}

// AsUser calls do while this process, which is root's, has the rights of another user, and none of
// its own. lookup finds the variables of the environment that BecomeUser would return. do must
// start no process: it could become root again.
func AsUser(uid int, env, keep []string, do func(lookup func(string) (string, bool))) error {
	a, err := accountOfNumber(uid)
	if err != nil {
		return err
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
		err = syscall.Setreuid(unchanged, a.uid)
	}
	if err == nil {
		do(Lookup(a.userEnviron(env, keep)))
	}
	return errors.Join(err, back())
}

// variables returns the variables that login(1) and cron set for a user.
func (a account) variables() []string {
	if !a.given {
		return nil
	}
	return []string{"HOME=" + a.home, "USER=" + a.name, "LOGNAME=" + a.name}
}

// isAccountVariable reports whether a NAME=value is one of account.variables.
func isAccountVariable(pair string) bool {
	name, _, _ := strings.Cut(pair, "=")
	return name == "HOME" || name == "USER" || name == "LOGNAME"
}

// setNice sets the priority of this thread, and so of the program that replaces it. On Linux each
// thread has a priority of its own.
func setNice(nice *int) error {
	if nice == nil {
		return nil
	}
	err := syscall.Setpriority(syscall.PRIO_PROCESS, 0, *nice)
	if errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.EPERM) {
		return fmt.Errorf("only root can set nice to %d, which is a higher priority than sched has", *nice)
	}
	return err
}

// niceSession gives the session of this process its priority among sessions, where the kernel
// divides the processor between sessions first (autogroup in sched(7)). Elsewhere there is no such
// file. The kernel lets users write such a file only ten times in a second, together.
func niceSession(nice *int) {
	const patience = time.Second
	if nice == nil {
		return
	}
	text := []byte(strconv.Itoa(*nice))
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(patience / 50) {
		if err := os.WriteFile("/proc/self/autogroup", text, 0); !errors.Is(err, syscall.EAGAIN) {
			return
		}
	}
}

// Give makes a file belong to the user and the group of a task.
func Give(file *os.File, as schedule.As) error {
	a, err := accountOf(as)
	if err != nil || !a.change {
		return err
	}
	return file.Chown(a.uid, a.gid)
}

// CheckAs returns why this process cannot run a task as that user, and with that priority, on this
// machine. It returns nil if it can.
func CheckAs(as schedule.As) error {
	if _, err := accountOf(as); err != nil || as.Nice == nil {
		return err
	}
	result := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread with the priority ends with this goroutine
		result <- setNice(as.Nice)
	}()
	return <-result
}

// CheckEnvFiles returns why the files of a task's env_file cannot be used now, or which of its
// secrets is too short. It returns nil if they can be used. env is the environment of the caller.
// For a task of another user CheckEnvFiles only checks that the files exist: only a process of that
// user finds out whether the user may read them
// (docs/internals/decisions.md#env_file-is-read-as-the-user-of-the-task).
func CheckEnvFiles(t *schedule.Task, env []string) error {
	if user, err := accountOf(t.As); err != nil || !user.change || user.uid == 0 {
		env = Environ(env, *t)
		fromFiles, err := envfile.Read(t.EnvFiles, Lookup(env))
		env = Environ(env, *t, append(fromFiles, envOverFiles(t)...)...)
		return cmp.Or(err, mask.Check(t.Secrets, Lookup(env)))
	}
	for _, path := range t.EnvFiles {
		if _, err := os.Stat(path); err != nil {
			return envfile.Error(path, humanize.WithoutPath(err))
		}
	}
	return nil
}
