// Robfig runs the jobs of the bench with github.com/robfig/cron/v3.
package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/robfig/cron/v3"

	"sched/bench/field/drivers/joblist"
)

func main() {
	options := joblist.Parse()
	logger := cron.VerbosePrintfLogger(log.New(os.Stdout, "cron: ", log.LstdFlags|log.Lmicroseconds))
	scheduler := cron.New(cron.WithLogger(logger))
	for _, job := range options.Jobs {
		// The section "Job Wrappers" of the documentation: nothing is for missed runs.
		wrappers := []cron.JobWrapper{cron.Recover(logger), cron.SkipIfStillRunning(logger)}
		switch {
		case !options.Best:
			wrappers = nil
		case !job.Single:
			wrappers = wrappers[:1]
		}
		scheduler.Schedule(job.Schedule(), cron.NewChain(wrappers...).Then(cron.FuncJob(func() {
			if err := job.Run(context.Background()); err != nil {
				logger.Error(err, "job failed", "name", job.Name)
			}
		})))
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	scheduler.Start()
	<-ctx.Done()
	// Cron.Stop: the context that it returns ends when the running jobs have ended.
	<-scheduler.Stop().Done()
}
