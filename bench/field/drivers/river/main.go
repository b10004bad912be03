// River runs the jobs of the bench as periodic jobs of github.com/riverqueue/river.
package main

import (
	"context"
	"database/sql"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"
	"github.com/robfig/cron/v3"
	_ "modernc.org/sqlite"

	"sched/bench/field/drivers/joblist"
)

func main() {
	options := joblist.Parse()
	path, isSQLite := strings.CutPrefix(options.Store, "sqlite:")
	if !isSQLite {
		pool, err := pgxpool.New(context.Background(), options.Store)
		joblist.Check(err)
		serve(options, riverpgxv5.New(pool))
		return
	}
	address := "file:" + path
	if options.Best {
		// sqlite.org/wal.html and /pragma.html: two processes wait for each other.
		address += "?_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=busy_timeout(10000)"
	}
	db, err := sql.Open("sqlite", address)
	joblist.Check(err)
	db.SetMaxOpenConns(1) // as the documentation of riversqlite says
	serve(options, riversqlite.New(db))
}

func serve[T any](options joblist.Options, driver riverdriver.Driver[T]) {
	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{Level: slog.LevelInfo}))
	migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: logger})
	joblist.Check(err)
	_, err = migrator.Migrate(context.Background(), rivermigrate.DirectionUp, nil)
	for try := 0; err != nil && try < 5; try++ { // another server migrates at the same time
		time.Sleep(time.Second)
		_, err = migrator.Migrate(context.Background(), rivermigrate.DirectionUp, nil)
	}
	joblist.Check(err)
	workers := river.NewWorkers()
	river.AddWorker(workers, &worker{})
	config := &river.Config{
		Logger:  logger,
		Queues:  map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 100}},
		Workers: workers,
	}
	if options.Best {
		// Config.RescueStuckJobsAfter: greater than JobTimeout, and than the longest run. The
		// defaults are one hour, and one minute.
		config.JobTimeout = joblist.LongestRun
		config.RescueStuckJobsAfter = joblist.LongestRun + 10*time.Second
	}
	for _, job := range options.Jobs {
		config.PeriodicJobs = append(config.PeriodicJobs, periodic(options.Best, job, local{job.Schedule()}))
	}
	client, err := river.NewClient(driver, config)
	joblist.Check(err)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	// Client.Start: jobs run in its context, and the end of that context kills them. Stop waits.
	joblist.Check(client.Start(context.Background()))
	<-ctx.Done()
	joblist.Check(client.Stop(context.Background()))
}

// periodic says how the library avoids a second run, after UniqueOpts:
//   - A SINGLE job is not inserted while a job of the same arguments waits or runs.
//   - Another job is inserted once a minute, also when the leader changes.
//
// RunOnStart stays unset: it would insert a job whenever a leader is elected, at a time that is not
// in the schedule. Runs that survive a restart are a feature of River Pro (durable periodic jobs).
func periodic(best bool, job joblist.Job, schedule river.PeriodicSchedule) *river.PeriodicJob {
	var insert *river.InsertOpts
	if best && job.Single {
		insert = &river.InsertOpts{UniqueOpts: river.UniqueOpts{ByArgs: true, ByState: []rivertype.JobState{
			rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRetryable,
			rivertype.JobStateRunning, rivertype.JobStateScheduled,
		}}}
	} else if best {
		insert = &river.InsertOpts{UniqueOpts: river.UniqueOpts{ByArgs: true, ByPeriod: time.Minute}}
	}
	return river.NewPeriodicJob(schedule, func() (river.JobArgs, *river.InsertOpts) {
		return args(job), insert
	}, &river.PeriodicJobOpts{ID: job.Name})
}

// local is a schedule in the zone of the environment: River asks with times in UTC.
type local struct{ cron.Schedule }

// Next returns the first time of the schedule after t.
func (l local) Next(t time.Time) time.Time { return l.Schedule.Next(t.Local()) }

type args joblist.Job

// Kind names the kind of jobs in the store.
func (args) Kind() string { return "command" }

type worker struct {
	river.WorkerDefaults[args]
}

// Work runs the command.
func (worker) Work(ctx context.Context, job *river.Job[args]) error {
	return joblist.Job(job.Args).Run(ctx)
}
