package mutex_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"sched/mutex"
	"sched/testing/storetest"
)

func TestFilesKeepTheContractOfLocks(t *testing.T) {
	storetest.Locks(t, func(t *testing.T) func() mutex.Locks {
		dir := filepath.Join(t.TempDir(), "locks") // made when it is needed
		return func() mutex.Locks { return mutex.Files{Dir: dir} }
	})
}

var ctx = context.Background()

func holder(run string) mutex.Holder {
	return mutex.Holder{Run: run, PID: 3121, Host: "web-2", Since: time.Date(2026, 1, 1, 9, 55, 0, 0, time.UTC)}
}

func acquire(t *testing.T, s mutex.Locks, name, run string) mutex.Lock {
	t.Helper()
	lock, err := s.Acquire(ctx, name, holder(run))
	if err != nil {
		t.Fatalf("acquire %s for %s: %v", name, run, err)
	}
	t.Cleanup(func() { runtime.KeepAlive(lock) }) // the garbage collector closes a lock that is not used any more
	return lock
}

// held checks that run has the mutex.
func held(t *testing.T, s mutex.Locks, name, run string) {
	t.Helper()
	_, err := s.Acquire(ctx, name, holder("another-run"))
	var held *mutex.HeldError
	if !errors.As(err, &held) || held.Name != name || held.Holder.Run != run {
		t.Fatalf("%s is not held by %s: %v", name, run, err)
	}
}

// free checks that no run has the mutex, and leaves it so.
func free(t *testing.T, s mutex.Locks, name string) {
	t.Helper()
	release(t, acquire(t, s, name, "another-run"))
}

func release(t *testing.T, lock mutex.Lock) {
	t.Helper()
	if err := lock.Release(ctx); err != nil {
		t.Fatalf("release: %v", err)
	}
}

// A supervisor is killed between two attempts of a run: no process has the descriptor. The process
// that takes the run over has the lock again, whatever becomes of the database.
func TestWhoTakesARunOverHasItsLockAgain(t *testing.T) {
	store := mutex.Files{Dir: t.TempDir()}
	acquire(t, store, "backup", "run-1").Inherit()[0].Close()
	ours := store.Adopt("backup", holder("run-1"), nil)
	held(t, store, "backup", "run-1")
	release(t, ours)
	free(t, store, "backup")

	acquire(t, store, "backup", "run-2").Inherit()[0].Close()
	if files := store.Adopt("backup", holder("run-1"), nil).Inherit(); len(files) > 0 {
		t.Error("a run has the lock of another one")
	}
}

// A supervisor is killed during an attempt, whose command has the lock. When that command has ended
// no process has the lock, until the next attempt is about to start.
func TestTheNextAttemptHasTheLockAgain(t *testing.T) {
	store := mutex.Files{Dir: t.TempDir()}
	command := acquire(t, store, "backup", "run-1")
	ours := store.Adopt("backup", holder("run-1"), nil)
	if files := ours.Inherit(); len(files) > 0 {
		t.Fatal("the lock was taken from the command")
	}
	command.Inherit()[0].Close()
	if files := ours.Inherit(); len(files) != 1 {
		t.Fatal("the next attempt does not have the lock")
	}
	held(t, store, "backup", "run-1")
	release(t, ours)
	if files := ours.Inherit(); len(files) > 0 {
		t.Error("a lock that was released is taken again")
	}
	free(t, store, "backup")
}

// inherited is the descriptor of the lock as a child would have it.
func inherited(t *testing.T, lock mutex.Lock) *os.File {
	t.Helper()
	fd, err := syscall.Dup(int(lock.Inherit()[0].Fd()))
	if err != nil {
		t.Fatal(err)
	}
	syscall.CloseOnExec(fd)
	return os.NewFile(uintptr(fd), "an inherited lock")
}

// programs are the programs that this test binary runs in place of its tests, as another process.
var programs = map[string]func(store mutex.Files, args []string){"take": take, "takeAndBreak": takeAndBreak}

func TestMain(m *testing.M) {
	if program := programs[os.Getenv("MUTEX_TEST_PROGRAM")]; program != nil {
		program(mutex.Files{Dir: os.Args[1]}, os.Args[2:])
		fmt.Println("done")
		bufio.NewReader(os.Stdin).ReadString('\n') // locks are kept until the test has looked
		return
	}
	os.Exit(m.Run())
}

// start starts n processes that run a program, and returns the lines that they print until all are
// done. They live until the test ends.
func start(t *testing.T, n int, program, dir string) (lines []string) {
	t.Helper()
	said := make(chan []string)
	for i := range n {
		c := exec.Command(os.Args[0], dir, fmt.Sprint(i))
		c.Env = append(os.Environ(), "MUTEX_TEST_PROGRAM="+program, "GORACE=atexit_sleep_ms=0")
		c.Stderr = os.Stderr
		in, _ := c.StdinPipe()
		out, _ := c.StdoutPipe()
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { in.Close(); c.Wait() })
		go func() {
			var mine []string
			for scanner := bufio.NewScanner(out); scanner.Scan() && scanner.Text() != "done"; {
				mine = append(mine, scanner.Text())
			}
			said <- mine
		}()
	}
	for range n {
		lines = append(lines, <-said...)
	}
	return lines
}

// take takes the mutex and the claim once.
func take(store mutex.Files, args []string) {
	o := mutex.Holder{Run: "run-" + args[0], PID: os.Getpid(), Since: time.Now()}
	if lock, err := store.Acquire(ctx, "backup", o); err == nil {
		defer runtime.KeepAlive(lock)
		fmt.Println("lock")
	}
	if err := store.Claim(ctx, "backup@1", o.Since.Truncate(24*time.Hour).Add(48*time.Hour), o); err == nil {
		fmt.Println("claim")
	}
}

func TestOfManyProcessesThatRaceOneWins(t *testing.T) {
	lines := start(t, 20, "take", t.TempDir())
	if text := strings.Join(lines, " "); text != "lock claim" && text != "claim lock" {
		t.Errorf("they got: %s", text)
	}
}

// takeAndBreak takes the mutex when it is free, breaks it when it is not, and releases nothing.
func takeAndBreak(store mutex.Files, args []string) {
	for i := range 40 {
		run := fmt.Sprintf("%s.%d", args[0], i)
		if lock, err := store.Acquire(ctx, "backup", mutex.Holder{Run: run}); err == nil {
			defer runtime.KeepAlive(lock)
			fmt.Println("acquired", run)
		}
		if had, err := store.Break(ctx, "backup"); err == nil {
			fmt.Println("broke", had.Run)
		} else if !errors.Is(err, mutex.ErrFree) {
			fmt.Println("error", err)
		}
	}
}

// However processes take and break a mutex, every holder but the last was broken, once: at no time
// were there two.
func TestHoweverLocksAreBrokenAndTakenThereIsOneHolder(t *testing.T) {
	dir := t.TempDir()
	acquired, broken := map[string]bool{}, map[string]bool{}
	for _, line := range start(t, 8, "takeAndBreak", dir) {
		what, run, _ := strings.Cut(line, " ")
		switch {
		case what == "acquired":
			acquired[run] = true
		case what == "broke" && !broken[run]:
			broken[run] = true
		default:
			t.Errorf("%s (once more?)", line)
		}
	}
	for run := range broken {
		if !acquired[run] {
			t.Errorf("%q was broken and never had it", run)
		}
		delete(acquired, run)
	}
	if len(acquired) > 1 {
		t.Errorf("at once: %v", acquired)
	}
	for run := range acquired {
		held(t, mutex.Files{Dir: dir}, "backup", run)
	}
	if len(broken) < 8 {
		t.Errorf("only %d locks were broken: there was no race", len(broken))
	}
}

// family starts a shell that has the lock and starts a child that has it too. It returns both. Our
// own descriptor is closed, as in a tick that has ended.
func family(t *testing.T, lock mutex.Lock) (shell *os.Process, child int) {
	t.Helper()
	c := exec.Command("/bin/sh", "-c", "sleep 300 >/dev/null 2>&1 & echo $!; exec sleep 300")
	c.ExtraFiles = lock.Inherit()
	out, _ := c.StdoutPipe()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fscan(out, &child); err != nil {
		t.Fatal(err)
	}
	go c.Wait()
	t.Cleanup(func() { c.Process.Kill(); syscall.Kill(child, syscall.SIGKILL) })
	lock.Inherit()[0].Close()
	return c.Process, child
}

func TestALockLivesAsLongAsAProcessThatInheritedIt(t *testing.T) {
	store := mutex.Files{Dir: t.TempDir()}
	shell, child := family(t, acquire(t, store, "backup", "run-1"))
	held(t, store, "backup", "run-1")
	shell.Kill()
	gone(t, shell.Pid)
	held(t, store, "backup", "run-1")
	syscall.Kill(child, syscall.SIGKILL)
	until(t, "the lock is dropped with the last process", func() bool {
		lock, err := store.Acquire(ctx, "backup", holder("run-2"))
		return err == nil && lock.Release(ctx) == nil
	})
}

// A daemon that the command left behind keeps nothing.
func TestAReleaseFreesALockThatChildrenStillHave(t *testing.T) {
	store := mutex.Files{Dir: t.TempDir()}
	lock := acquire(t, store, "backup", "run-1")
	ours := store.Adopt("backup", holder("run-1"), inherited(t, lock))
	family(t, lock)
	held(t, store, "backup", "run-1")
	release(t, ours)
	free(t, store, "backup")
}

// A process without the descriptor does the same: the finish of a lost run.
func TestAReleaseByNameFreesALockThatChildrenStillHave(t *testing.T) {
	store := mutex.Files{Dir: t.TempDir()}
	_, child := family(t, acquire(t, store, "backup", "run-1"))
	release(t, store.Adopt("backup", holder("run-1"), nil))
	next := acquire(t, store, "backup", "run-2")
	syscall.Kill(child, syscall.SIGKILL)
	held(t, store, "backup", "run-2")
	release(t, next)
}

// A holder is text for people: a lock is as good without it, or with text that says nothing.
func TestALockWhoseHolderCannotBeReadIsALock(t *testing.T) {
	for _, text := range []string{"", "{", "\x00\xff", `{"run": 7}`, strings.Repeat("x", 10000)} {
		dir := t.TempDir()
		store := mutex.Files{Dir: dir}
		acquire(t, store, "backup", "run-1")
		path := filepath.Join(dir, "backup.lock")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := store.Acquire(ctx, "backup", holder("run-2"))
		var held *mutex.HeldError
		if !errors.As(err, &held) || held.Error() != "backup is held by a run that left no name" {
			t.Errorf("%q: %v", text, err)
		}
		if _, err := store.Break(ctx, "backup"); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestClaimsOfHoursLongGoneAreSwept(t *testing.T) {
	dir := t.TempDir()
	store := mutex.Files{Dir: dir}
	claim := func(key string, slot time.Time) {
		t.Helper()
		if err := store.Claim(ctx, key, slot.Add(time.Hour), mutex.Holder{Run: key, Since: slot}); err != nil {
			t.Fatal(err)
		}
	}
	first := time.Date(2026, 1, 31, 22, 59, 0, 0, time.UTC)
	claim("a", first)
	claim("b", first.Add(time.Minute))
	claim("c", first.Add(61*time.Minute))
	hours := func() int {
		entries, err := os.ReadDir(filepath.Join(dir, "claims"))
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	if n := hours(); n != 3 {
		t.Errorf("%d hours are kept", n)
	}
	var held *mutex.HeldError
	if err := store.Claim(ctx, "a", first.Add(time.Hour), holder("late")); !errors.As(err, &held) {
		t.Errorf("a claim was forgotten within its time: %v", err)
	}
	claim("d", first.Add(24*time.Hour))
	claim("e", first.Add(25*time.Hour))
	if n := hours(); n != 2 {
		t.Errorf("%d hours are kept after a day", n)
	}
}

// The clock jumps ahead by a day, a slot of that day is claimed, and the clock is set back. The
// claims of the true time hold.
func TestAJumpOfTheClockTakesNoClaimsAway(t *testing.T) {
	store := mutex.Files{Dir: t.TempDir()}
	now := time.Date(2026, 1, 31, 22, 59, 0, 0, time.UTC)
	claim := func(key string, slot time.Time) error {
		return store.Claim(ctx, key, slot.Add(time.Hour), mutex.Holder{Run: key, Since: slot})
	}
	if err := claim("backup", now); err != nil {
		t.Fatal(err)
	}
	for day := range 3 { // each time for two minutes, in which an hour begins
		for minute := range 2 {
			if err := claim("other", now.AddDate(0, 0, 1+day).Add(time.Duration(minute)*time.Minute)); err != nil {
				t.Fatal(err)
			}
		}
		var held *mutex.HeldError
		if err := store.Claim(ctx, "backup", now.Add(time.Hour), holder("again")); !errors.As(err, &held) {
			t.Fatalf("after jump %d the slot can be claimed again: %v", day+1, err)
		}
		if err := claim("next", now.Add(time.Duration(day+1)*time.Hour)); err != nil { // in the true time again
			t.Fatal(err)
		}
	}
}

// If the holder cannot be written, the run gets no lock: the file would name the last holder, whose
// late finish could take the lock away from the new one. (Found by bench/crash.)
func TestInAReadOnlyFolderHeldLocksHoldAndNoneIsGiven(t *testing.T) {
	dir := t.TempDir()
	store := mutex.Files{Dir: dir}
	release(t, acquire(t, store, "free", "run-1"))
	lock := acquire(t, store, "backup", "run-2")
	readOnly(t, dir)
	if _, err := os.Create(filepath.Join(dir, "new")); err == nil {
		t.Fatal("the folder can be written")
	}
	var held *mutex.HeldError
	if _, err := store.Acquire(ctx, "backup", holder("run-3")); !errors.As(err, &held) || held.Holder.Run != "run-2" {
		t.Errorf("a held lock: %v", err)
	}
	if by, is := storetest.HeldFile(store, "backup"); !is || by.Run != "run-2" {
		t.Errorf("held by %v, %t", by, is)
	}
	lock.Describe(holder("run-2"))
	release(t, lock)
	if _, is := storetest.HeldFile(store, "backup"); is {
		t.Error("it is held after its release")
	}
	if _, err := store.Acquire(ctx, "free", holder("run-4")); !errors.Is(err, syscall.EROFS) &&
		!errors.Is(err, syscall.EPERM) && !errors.Is(err, syscall.EACCES) {
		t.Errorf("a lock whose holder cannot be written: %v", err)
	}
	if _, is := storetest.HeldFile(store, "free"); is {
		t.Error("a lock that was not given is held")
	}

	// A new one cannot be made there, which is not to be read as held.
	if _, err := store.Acquire(ctx, "report", holder("run-1")); err == nil || errors.As(err, &held) {
		t.Errorf("a lock without a file: %v", err)
	}
	if err := store.Claim(ctx, "report@1", time.Now(), holder("run-1")); err == nil || errors.As(err, &held) {
		t.Errorf("a claim without a file: %v", err)
	}
}

// A command inherits the lock, and may run as a user who must not write who holds it.
func TestAProcessThatInheritsALockCannotWriteItsFile(t *testing.T) {
	lock, err := mutex.Files{Dir: t.TempDir()}.Acquire(ctx, "backup", holder("run-1"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release(ctx)
	if _, err := lock.Inherit()[0].WriteAt([]byte(`{"run":"run-2"}`), 0); !errors.Is(err, syscall.EBADF) {
		t.Errorf("writing: %v", err)
	}
	if err := lock.Inherit()[0].Truncate(0); err == nil {
		t.Error("it can be cut")
	}
}

// readOnly takes the right to write in a folder from us, even if we are root.
func readOnly(t *testing.T, dir string) {
	t.Helper()
	if os.Getuid() != 0 {
		files, _ := filepath.Glob(filepath.Join(dir, "*"))
		for _, file := range files {
			os.Chmod(file, 0o400)
		}
		os.Chmod(dir, 0o500)
		t.Cleanup(func() { os.Chmod(dir, 0o700) })
		return
	}
	if exec.Command("mount", "--bind", dir, dir).Run() != nil {
		t.Skip("root can write everywhere, and cannot mount here")
	}
	t.Cleanup(func() { exec.Command("umount", "-l", dir).Run() })
	if out, err := exec.Command("mount", "-o", "remount,ro,bind", dir).CombinedOutput(); err != nil {
		t.Skipf("%v: %s", err, out)
	}
}

func until(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if condition() {
			return
		}
	}
	t.Fatalf("not in time: %s", what)
}

func gone(t *testing.T, pid int) {
	t.Helper()
	until(t, "the process is gone", func() bool { return syscall.Kill(pid, 0) != nil })
}

// The holder is written down until it has released the mutex.
func TestTheHolderInTheFile(t *testing.T) {
	files, ctx := mutex.Files{Dir: t.TempDir()}, context.Background()
	if holder, ok := storetest.LastInFile(files, "m"); ok {
		t.Errorf("before any: %+v", holder)
	}
	lock, err := files.Acquire(ctx, "m", mutex.Holder{Run: "run-1", PID: 1, Host: "here", Since: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	if holder, ok := storetest.LastInFile(files, "m"); !ok || holder.Run != "run-1" {
		t.Errorf("held: %+v, %v", holder, ok)
	}
	lock.Release(ctx)
	if holder, ok := storetest.LastInFile(files, "m"); ok {
		t.Errorf("released: %+v", holder)
	}
	if err := syscall.Mkfifo(filepath.Join(files.Dir, "pipe.lock"), 0o600); err != nil {
		t.Fatal(err)
	}
	if holder, ok := storetest.LastInFile(files, "pipe"); ok {
		t.Errorf("a named pipe: %+v", holder)
	}
}

// A supervisor may be killed while its run goes on, even right before another run asks for the
// mutex. So Acquire asks with the lock in hand whether the last holder goes on. No other run gets
// the lock meanwhile, and the file still names the run that goes on.
func TestNobodyGetsTheMutexOfARunThatGoesOnWithoutTheLock(t *testing.T) {
	dir := t.TempDir()
	plain := mutex.Files{Dir: dir}
	acquire(t, plain, "backup", "run-1").Inherit()[0].Close() // as by the kill
	var held *mutex.HeldError
	asked := 0
	goesOn := plain
	goesOn.GoesOn = func(name string, last mutex.Holder) bool {
		asked++
		if name != "backup" || last.Run != "run-1" {
			t.Errorf("it asks for %s of %+v", name, last)
		}
		if now, held := storetest.HeldFile(plain, name); !held || now.Run != "run-1" {
			t.Errorf("meanwhile others see that %+v has it: %t", now, held)
		}
		return true
	}
	if _, err := goesOn.Acquire(ctx, "backup", holder("run-2")); !errors.As(err, &held) ||
		held.Holder.Run != "run-1" || asked != 1 {
		t.Errorf("asked %d times, it gets %v", asked, err)
	}
	if now, held := storetest.HeldFile(plain, "backup"); held {
		t.Errorf("it left the lock to %+v", now)
	}
	if last, ok := storetest.LastInFile(plain, "backup"); !ok || last.Run != "run-1" {
		t.Errorf("the file names %+v", last)
	}
	goesOn.GoesOn = func(string, mutex.Holder) bool { return false }
	release(t, acquire(t, goesOn, "backup", "run-2"))
}

// A run that has ended on a full disk tries to write its end until there is room. It has released
// its mutex: the next run gets it meanwhile.
func TestARunThatHasReleasedItsLockDoesNotGoOn(t *testing.T) {
	files := mutex.Files{Dir: t.TempDir(), GoesOn: func(string, mutex.Holder) bool { return true }}
	release(t, acquire(t, files, "backup", "run-1"))
	release(t, acquire(t, files, "backup", "run-2"))
}
