package process

import (
	"bytes"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"sched/schedule/account"
)

// A member is a process of a Family that was found, and is no zombie. A zombie may stay for ever: a
// program that was not made to be PID 1 of a container never waits for its children.
type member struct {
	Survivor
	parent, group, session int
}

// membersOf returns the members of the family that live. The groups that the family names count at
// the first look. Later the kernel may have given their numbers to others, so then a group or a
// session counts if a member was in it when this process looked last: known are the members of
// then.
func membersOf(f Family, known []member, looked bool) (found []member) {
	own, _ := readMember(os.Getpid())
	var others []member
	for pid := range processes {
		m, living := readMember(pid)
		isKnown := slices.ContainsFunc(known, func(k member) bool { return k.Survivor == m.Survivor })
		switch {
		case !living || pid == own.PID:
		case isKnown, !looked && slices.Contains(f.Groups, m.group), isOfRun(f, pid), isOrphanOf(f, m, own):
			found = append(found, m)
		default:
			others = append(others, m)
		}
	}
	return append(found, relativesOf(f, known, found, others, own)...)
}

// relativesOf returns the other processes that descend from members, are in a group of members, or
// in a session that a member began. The group and the session of this process do not count. Nor
// does the session in which a command was started: there are the process that watches it, the hooks
// of its run, and the commands of other tasks.
func relativesOf(f Family, known, found, others []member, own member) (relatives []member) {
	parents, groups, sessions := map[int]bool{}, map[int]bool{own.group: false}, map[int]bool{own.session: false}
	runs := map[string]bool{"": true, f.Run: true} // of the members
	for _, m := range found {
		run, _ := runOf(m.PID)
		runs[run] = true
	}
	for members := slices.Concat(known, found); len(members) > 0; {
		for _, m := range members {
			parents[m.PID] = true
			groups[m.group] = m.group != own.group
			if m.session == m.PID {
				sessions[m.session] = m.session != own.session
			}
		}
		members = nil
		others = slices.DeleteFunc(others, func(m member) bool {
			related := parents[m.parent] || groups[m.group] || sessions[m.session]
			if related && !belongsToOtherRun(m.PID, runs) {
				members = append(members, m)
			}
			return related
		})
		relatives = append(relatives, members...)
	}
	return relatives
}

// belongsToOtherRun reports whether a descendant of a command is a process of a sched inside it: a
// command or a hook of a run that is not among runs, or a process that watches such runs.
func belongsToOtherRun(pid int, runs map[string]bool) bool {
	for _, pair := range Environment(pid) {
		if run, ok := bytes.CutPrefix(pair, []byte("SCHED_RUN=")); ok && !runs[string(run)] {
			return true
		}
		if bytes.HasPrefix(pair, []byte(StateVariable+"=")) {
			return true
		}
	}
	return false
}

// isOfRun reports whether the process was started for the run and attempt of the family, or a later
// attempt. A hook after the command was not. The process that ends the command may still look for
// what is left of it when the hook runs already, and the hook must fire.
func isOfRun(f Family, pid int) bool {
	if f.Run == "" || pid == os.Getpid() {
		return false
	}
	env := Environment(pid) // read once, because the process may execute another program at any time
	run, attempt := runIn(env)
	return run == f.Run && attempt >= f.Attempt && !hasOutcome(env) && maySignal(f.User, pid)
}

// isOrphanOf reports whether the process lost its parent, became a child of this process, and comes
// from the family: see Family.Output.
func isOrphanOf(f Family, m, own member) bool {
	if f.Output == nil || !isOrphan(m, own) {
		return false
	}
	if hasOpen(m.PID, f.Output) {
		return true
	}
	ticks, _ := strconv.ParseInt(m.Start, 10, 64)
	start := time.Duration(ticks) * (time.Second / 100)
	from := began(f.Groups).Truncate(time.Second / 100)
	if from == 0 || start < from || belongsToOtherRun(m.PID, map[string]bool{"": true, f.Run: true}) {
		return false
	}
	hasLock := slices.ContainsFunc(f.Locks, func(lock *os.File) bool { return hasOpen(m.PID, lock) })
	return hasLock || ownAlone(f.Groups, start)
}

// isOrphan reports whether the process is a child of this process that another process started.
// A child in the group of this process does not count: os/exec has started it, and waits for it.
func isOrphan(m, own member) bool {
	if m.parent != own.PID || m.group == own.group {
		return false
	}
	started.Lock()
	defer started.Unlock()
	return started.lives[m.PID] == nil
}

// ownAlone reports whether an orphan can come from no other process that this one has started than
// those that lead the groups: no other has lived since the orphan began.
func ownAlone(groups []int, orphan time.Duration) bool {
	started.Lock()
	defer started.Unlock()
	for pid, other := range started.lives {
		living := other.to == 0
		if slices.Contains(groups, pid) || living && other.adopts {
			continue
		}
		if living || other.to >= orphan {
			return false
		}
	}
	return true
}

// began reports when the first process began that this one has started and that leads one of the
// groups; 0 if it has started none.
func began(groups []int) (from time.Duration) {
	started.Lock()
	defer started.Unlock()
	for _, group := range groups {
		if life := started.lives[group]; life != nil && (from == 0 || life.from < from) {
			from = life.from
		}
	}
	return from
}

// hasOutcome reports whether an environment is of a hook after the command: hooks get the outcome
// of their run, and commands do not.
func hasOutcome(env [][]byte) bool {
	return slices.ContainsFunc(env, func(pair []byte) bool {
		return bytes.HasPrefix(pair, []byte("SCHED_OUTCOME="))
	})
}

// maySignal reports whether a user may signal a process (kill(2)), but for the right of root to
// signal every process. "" is the user of this process. A process of sched that is about to become
// a command of the user (Become) counts as one of the user.
func maySignal(name string, pid int) bool {
	uid := os.Geteuid()
	if name != "" {
		a, err := account.ByName(name, false)
		if err != nil {
			return false
		}
		uid = a.UID
	}
	status, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	_, after, _ := bytes.Cut(status, []byte("\nUid:"))
	line, _, _ := bytes.Cut(after, []byte("\n"))
	ids := bytes.Fields(line) // real, effective, saved, of the file system
	has := func(i, id int) bool { return i < len(ids) && string(ids[i]) == strconv.Itoa(id) }
	return has(0, uid) || has(2, uid) || has(0, os.Geteuid()) && runsSched(pid)
}

// runsSched reports whether a process runs the program of this process.
func runsSched(pid int) bool {
	ours, err := os.Stat(Self())
	theirs, theirErr := os.Stat("/proc/" + strconv.Itoa(pid) + "/exe")
	return err == nil && theirErr == nil && os.SameFile(ours, theirs)
}

// readMember finds a process by its id. A process that has ended is not living, nor is a zombie.
func readMember(pid int) (m member, living bool) {
	stat := ReadStat(pid)
	return member{Survivor{pid, stat.start}, stat.Parent, stat.Group, stat.session}, stat.isLiving()
}

// LiveGroups returns the groups of the run's command that live on. The group of the last attempt
// that was written down counts (group 0: none was, and every group of the run counts). Groups of
// the next attempt count, too: sched may have been killed before it could write that attempt down.
// Other groups, which an earlier attempt left behind, are daemons and do not count. A group that
// was not written down counts only if the task's user may signal its process (Family.User).
func LiveGroups(run, user string, group, attempt int) (left []int) {
	for pid := range processes {
		id, n := runOf(pid)
		if id != run {
			continue
		}
		m, living := readMember(pid)
		isKnown := group != 0 && m.group == group
		isNext := group == 0 || n == attempt+1
		if living && (isKnown || isNext && maySignal(user, pid)) && !slices.Contains(left, m.group) {
			left = append(left, m.group)
		}
	}
	return left
}

// HasGroup reports whether a process of the group was started for the run. It looks through all
// processes of the machine only if the first process of the group has ended.
func HasGroup(run string, group int) bool {
	if _, living := readMember(group); living {
		id, _ := runOf(group)
		return id == run
	}
	return slices.Contains(LiveGroups(run, "", group, 0), group)
}

// Prints reports whether a process of the group has the file at the path open, such as the output
// of a run. It tells a command that has no environment from others that got its number later.
func Prints(group int, path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	for pid := range processes {
		if m, living := readMember(pid); living && m.group == group && hasOpen(pid, file) {
			return true
		}
	}
	return false
}

// ChildGroup returns the process group that was started for the attempt of the run, and whose first
// process is a child of this process; 0 if no such process lives.
func ChildGroup(run string, attempt int) int {
	for pid := range processes {
		if stat := ReadStat(pid); stat.Parent != os.Getpid() || stat.Group != pid {
			continue
		}
		if id, n := runOf(pid); id == run && n == attempt {
			return pid
		}
	}
	return 0
}

// OpenInOtherRun reports whether a process that was started for another run has the file open, as
// far as this process may see.
func OpenInOtherRun(file *os.File, run string) bool {
	for pid := range processes {
		if id, _ := runOf(pid); id != "" && id != run && hasOpen(pid, file) {
			return true
		}
	}
	return false
}

// AdoptOrphans makes this process the parent of what its descendants leave behind, and reaps that
// when it ends.
var AdoptOrphans = sync.OnceFunc(func() {
	BecomeSubreaper()
	go reapOrphans()
})

// reapOrphans reaps orphans that have ended, and does not return. It looks through the processes at
// most once a second.
func reapOrphans() {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	for range ended {
		own, _ := readMember(os.Getpid())
		for pid := range processes {
			if m, living := readMember(pid); !living && isOrphan(m, own) {
				unix.Wait4(pid, nil, unix.WNOHANG, nil)
			}
		}
		time.Sleep(time.Second)
	}
}
