// Package cmd is the command line of sched: it turns arguments into calls, and results into text
// and exit codes. Only this package and those below it know cobra, flags, the standard streams and
// the environment. They decide nothing about schedules or runs. A command has a package of its own,
// or stands beside its counterpart, as retry in cmd/trigger: a constructor, its options, and
// functions that know no cobra. The table of all commands is in root.go.
package cmd

import (
	"context"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"sched/cmd/app"
	"sched/cmd/completion"
	"sched/cmd/console"
	"sched/cmd/exit"
	"sched/schedule/account"
	"sched/schedule/process"
	"sched/schedule/run"
	"sched/schedule/run/handover"
	"sched/schedule/run/holding"
	"sched/schedule/run/supervise"
)

// Main runs sched with the arguments, without the name of the program, and returns its exit code.
func Main(args []string, in io.Reader, out, errs io.Writer) int {
	// sched calls itself in this way to replace the process by a command for another user.
	if len(args) == 1 && args[0] == process.BecomeArgument {
		if code, ok := process.Become(os.Environ()); ok {
			return code
		}
	}
	if handover.IsWitness(args) {
		return handover.Witness(os.Args[0], args[1], os.Environ())
	}
	a := &app.App{}
	a.Console = console.New(in, out, errs)
	if code, ok := superviseOrFinish(a, args); ok {
		return code
	}
	defer a.Close()
	// Commands do not inherit the files that the caller has open. A lock of `flock 9` would be held
	// as long as a background run lives.
	process.CloseOnExecFrom(3)
	// A process of sched usually ends after a moment. So it collects garbage less often than usual.
	debug.SetGCPercent(400)
	setAccountVariables()
	first := ""
	if len(args) > 0 {
		first = args[0]
	}
	root := newRoot(a, first)
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(a.Out)
	root.SetErr(errs)
	if completion.IsRequest(args) {
		completion.AddTo(a, root)
	}
	return a.FinishOutput(a.Report(root.Execute()))
}

// setAccountVariables sets HOME, USER, LOGNAME and SHELL, as far as they are missing, as cron does.
// systemd sets none of them in a service of the system without `User=`, and the tasks of a crontab
// start in HOME.
func setAccountVariables() {
	isMissing := func(name string) bool { _, isSet := os.LookupEnv(name); return !isSet }
	if !slices.ContainsFunc([]string{"HOME", "USER", "LOGNAME", "SHELL"}, isMissing) {
		return
	}
	variables, _ := account.Variables(os.Getuid()) // a user without an account has none
	for _, pair := range variables {
		if name, value, _ := strings.Cut(pair, "="); isMissing(name) {
			os.Setenv(name, value)
		}
	}
}

// superviseOrFinish runs the calls that sched makes of itself for background runs:
//
//   - `start ID`
//   - `finish --tick ID`, in the place of a supervisor that was killed
//   - `finish MUTEX CODE --run RUN`; these four arguments may be repeated, one group for each run
//
// For other arguments it returns false. It comes before cobra and YAML, because these calls need
// neither, and many `finish` processes may start in one second.
func superviseOrFinish(a *app.App, args []string) (code int, ok bool) {
	storage, ours, err := holding.StorageFrom(os.Getenv) // err counts only if the environment is ours
	if storage.Store != nil {
		defer storage.Store.Close()
	}
	if !ours || len(args) < 2 {
		return 0, false
	}
	defer storage.DB.Close()
	if err != nil {
		return a.Report(exit.Failed("", "%w", err)), true
	}
	runs := run.Caller{Process: holding.Process{
		Storage: storage, Environ: os.Environ(), Terminate: context.Background()}}
	isStart := len(args) == 2 && args[0] == "start"
	takesOver := len(args) == 3 && args[0] == "finish" && args[1] == "--tick"
	isFinish := len(args) >= 5 && args[0] == "finish" && args[3] == "--run"
	switch {
	case isStart, takesOver:
		terminate, kill, release := app.CatchSignals()
		defer release()
		err = supervise.Background(terminate, kill, runs, app.Self(), args[len(args)-1], takesOver)
	case isFinish:
		// The kernel sends SIGHUP to a stopped process when its parent ends (setpgid(2)), and a
		// finish must go on. It catches the signal and does not ignore it: hooks would inherit
		// that. No other signal is caught, because the output of this process is a file and no
		// pipe.
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
		err = handover.Finish(runs, runsToFinish(args[1:]))
	default:
		return 0, false
	}
	if err != nil {
		return a.Report(exit.Failed("", "%w", err)), true
	}
	return exit.OK, true
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
