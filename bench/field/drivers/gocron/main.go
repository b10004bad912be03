// Gocron runs the jobs of the bench with github.com/go-co-op/gocron/v2.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-co-op/gocron/v2"
	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"sched/bench/field/drivers/joblist"
)

func main() {
	options := joblist.Parse()
	// gocron.Logger has the methods of a slog.Logger.
	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{Level: slog.LevelDebug}))
	settings := []gocron.SchedulerOption{gocron.WithLogger(logger)}
	if options.Best {
		// WithStopTimeout: Shutdown waits so long for jobs that run. The default is 10 s.
		settings = append(settings, gocron.WithStopTimeout(joblist.LongestRun))
	}
	scheduler, err := gocron.NewScheduler(settings...)
	joblist.Check(err)
	var client redis.UniversalClient
	if options.Store != "" {
		at, err := redis.ParseURL(options.Store)
		joblist.Check(err)
		client = redis.NewClient(at)
	}
	for _, job := range options.Jobs {
		run := gocron.NewTask(func() error { return job.Run(context.Background()) })
		_, err := scheduler.NewJob(gocron.CronJob(job.Cron, job.HasSeconds()), run, jobOptions(options, job, client)...)
		joblist.Check(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	scheduler.Start()
	<-ctx.Done()
	joblist.Check(scheduler.Shutdown())
}

func jobOptions(options joblist.Options, job joblist.Job, client redis.UniversalClient) []gocron.JobOption {
	// The library does not log what a job or a lock returns: its listeners tell it.
	result := []gocron.JobOption{
		gocron.WithName(job.Name), // Locker: the name is the key of the lock
		gocron.WithEventListeners(
			gocron.AfterJobRunsWithError(func(_ uuid.UUID, name string, err error) {
				fmt.Println("AfterJobRunsWithError:", name, err)
			}),
			gocron.AfterLockError(func(_ uuid.UUID, name string, err error) {
				fmt.Println("AfterLockError:", name, err)
			}),
		),
	}
	if client != nil {
		result = append(result, gocron.WithDistributedJobLocker(newLocker(client, options.Best && job.Single)))
	}
	if options.Best && job.Single {
		// WithSingletonMode keeps the job from running again if it is already running.
		result = append(result, gocron.WithSingletonMode(gocron.LimitModeReschedule))
	}
	return result
}
