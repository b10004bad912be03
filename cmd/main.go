// Package cmd is the command line of sched: it turns arguments into calls, and results into text
// and exit codes. Only this package knows cobra, flags, the standard streams and the environment.
// It decides nothing about schedules or runs; cmd/terminal knows how text looks. A command has a
// file with its name, or stands beside its counterpart, as retry in trigger.go; help and version
// are in root.go. It is a constructor, its options, and a type that embeds app (listCommand) and
// knows no cobra.
package cmd

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"sched/schedule/clock"
	"sched/schedule/process"
	"sched/schedule/run"
)

// noDeadline is for calls that need no deadline of ours: databases and stores have their own.
var noDeadline = context.Background()

// A console is what a command shares with the person who typed it: the streams and a clock.
type console struct {
	in       io.Reader
	out, err io.Writer
	results  *resultWriter // what out writes to
	printers []*printer    // of out and err, after startPrinters
	now      func() time.Time
	zones    []*time.Location // in which times of the schedule are printed; nil before it was read
}

// A scheduleFile finds and reads the schedule that the flags name.
type scheduleFile struct {
	console
	config string // --config
	found  string // by findConfig, without --config: a process looks for its schedule once
	system bool   // --system
	// readOnly says that the command only reads. Such a command writes nothing, neither into the
	// state folder nor to the store. It works for everybody who may read the files. Root looks at
	// the schedule of another user as that user (becomeOwner).
	readOnly    bool
	owner       int  // as whom root looks (becomeOwner); 0: as itself
	wantOrigins bool // the command says from which key or file a value comes
}

// An app is one call of sched. Each command embeds it. It is built in three layers:
//
//	console       reads and prints            flags.go, streams.go, errors.go
//	scheduleFile  finds and reads a schedule  config.go
//	app           opens what a schedule uses  storage.go
type app struct {
	scheduleFile
	connections
	parsed bool // cobra has accepted the arguments; later errors are no wrong usage
}

// Main runs sched with the arguments, without the name of the program, and returns its exit code.
func Main(args []string, in io.Reader, out, errs io.Writer) int {
	if code, ok := become(args); ok {
		return code
	}
	if run.IsWitness(args) {
		return run.Witness(os.Args[0], args[1], os.Environ())
	}
	results := &resultWriter{Writer: out}
	a := &app{}
	a.console = console{in: in, out: results, err: errs, results: results, now: clock.Now}
	if code, ok := superviseOrFinish(a, args); ok {
		return code
	}
	defer a.close()
	// Commands do not inherit the files that the caller has open. A lock of `flock 9` would be held
	// as long as a background run lives.
	process.CloseOnExecFrom(3)
	// A process of sched usually ends after a moment. So it collects garbage less often than usual.
	debug.SetGCPercent(400)
	setAccountVariables()
	root := newRoot(a)
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(results)
	root.SetErr(errs)
	if isCompletion(args) {
		addCompletions(a, root)
	}
	return a.finishOutput(a.reportError(root.Execute()))
}

// setAccountVariables sets HOME, USER, LOGNAME and SHELL, as far as they are missing, as cron does.
// systemd sets none of them in a service of the system without `User=`, and the tasks of a crontab
// start in HOME.
func setAccountVariables() {
	isMissing := func(name string) bool { _, isSet := os.LookupEnv(name); return !isSet }
	if !slices.ContainsFunc([]string{"HOME", "USER", "LOGNAME", "SHELL"}, isMissing) {
		return
	}
	variables, _ := process.AccountVariables(os.Getuid()) // a user without an account has none
	for _, pair := range variables {
		if name, value, _ := strings.Cut(pair, "="); isMissing(name) {
			os.Setenv(name, value)
		}
	}
}

// become replaces this process by a command for another user, if sched called itself for that.
func become(args []string) (code int, ok bool) {
	if len(args) != 1 || args[0] != process.BecomeArgument {
		return 0, false
	}
	return process.Become(os.Environ())
}

// superviseOrFinish runs the calls that sched makes of itself for background runs:
//
//   - `start ID`
//   - `finish --tick ID`, in the place of a supervisor that was killed
//   - `finish MUTEX CODE --run RUN`; these four arguments may be repeated, one group for each run
//
// For other arguments it returns false. It comes before cobra and YAML, because these calls need
// neither, and many `finish` processes may start in one second.
func superviseOrFinish(a *app, args []string) (code int, ok bool) {
	storage, ours, err := run.StorageFrom(os.Getenv) // err counts only if the environment is ours
	if storage.Store != nil {
		defer storage.Store.Close()
	}
	if !ours || len(args) < 2 {
		return 0, false
	}
	defer storage.DB.Close()
	if err != nil {
		return a.reportError(failed("", "%w", err)), true
	}
	runs := run.Caller{Storage: storage, Environ: os.Environ(), Terminate: context.Background()}
	isStart := len(args) == 2 && args[0] == "start"
	takesOver := len(args) == 3 && args[0] == "finish" && args[1] == "--tick"
	isFinish := len(args) >= 5 && args[0] == "finish" && args[3] == "--run"
	switch {
	case isStart, takesOver:
		terminate, kill, release := catchSignals()
		defer release()
		err = run.Supervise(terminate, kill, runs, self(), args[len(args)-1], takesOver)
	case isFinish:
		// The kernel sends SIGHUP to a stopped process when its parent ends (setpgid(2)), and a
		// finish must go on. It catches the signal and does not ignore it: hooks would inherit
		// that. No other signal is caught, because the output of this process is a file and no
		// pipe.
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
		err = runs.FinishInherited(runsToFinish(args[1:]))
	default:
		return 0, false
	}
	if err != nil {
		return a.reportError(failed("", "%w", err)), true
	}
	return exitOK, true
}

// runsToFinish returns each RUN from repeated arguments MUTEX CODE --run RUN.
func runsToFinish(args []string) (ids []string) {
	const groupSize, runIndex = 4, 3
	for group := range slices.Chunk(args, groupSize) {
		if len(group) == groupSize {
			ids = append(ids, group[runIndex])
		}
	}
	return ids
}

// newStartCommand is for people who call start by hand: superviseOrFinish runs the other calls.
func newStartCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "start TICK",
		Short:  "Supervise the background runs of a tick (used by sched run)",
		Hidden: true,
		Args:   arguments(1, 1),
		RunE: func(*cobra.Command, []string) error {
			return usage("run a task by hand with `sched test TASK`",
				"start is what sched run calls for background tasks")
		},
	}
}

// endingSignals tell sched to end. catchSignals is for commands that run tasks or wait, and
// workSignals for `sched work`. They differ in the signals that may stay ignored.
var endingSignals = []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT}

// catchSignals returns two contexts. The first signal that tells sched to end ends terminate, and
// the second ends kill. Their causes name the signal ("by SIGTERM"). Until release the signals do
// nothing else. An ignored SIGHUP stays ignored, as by nohup(1). SIGINT counts even if a shell
// ignores it for &, because `sched work` sends it to its ticks.
func catchSignals() (terminate, kill context.Context, release func()) {
	terminate, cancelTerminate := context.WithCancelCause(context.Background())
	kill, cancelKill := context.WithCancelCause(context.Background())
	arrived := make(chan os.Signal, 2)
	for _, s := range endingSignals {
		if s != syscall.SIGHUP || !signal.Ignored(s) {
			signal.Notify(arrived, s)
		}
	}
	go func() {
		for _, cancel := range []context.CancelCauseFunc{cancelTerminate, cancelKill} {
			s, ok := <-arrived
			if !ok {
				return
			}
			cancel(errors.New("by " + unix.SignalName(s.(syscall.Signal))))
		}
	}()
	return terminate, kill, func() {
		signal.Stop(arrived)
		close(arrived)
	}
}

// workSignals receives the signals that end `sched work`. Every ignored signal stays ignored, also
// SIGINT: no process of sched sends it to `sched work`.
func workSignals() <-chan os.Signal {
	arrived := make(chan os.Signal, 4)
	for _, s := range endingSignals {
		if !signal.Ignored(s) {
			signal.Notify(arrived, s)
		}
	}
	return arrived
}

// tickStops are the stages in which a tick is stopped. Each context is done when its stage begins.
type tickStops struct {
	noNewStarts context.Context // nothing more may start
	terminate   context.Context // running tasks are to end
	kill        context.Context // running tasks are to end at once
}

// stopsBySignals returns stops that begin with the first and with the second signal. The signals
// are never released, because this process ends after its ticks.
func stopsBySignals() tickStops {
	terminate, kill, _ := catchSignals()
	return tickStops{noNewStarts: terminate, terminate: terminate, kill: kill}
}
