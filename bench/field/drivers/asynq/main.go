// Asynq runs the jobs of the bench with the Scheduler and the Server of github.com/hibiken/asynq.
package main

import (
	"context"
	"log"
	"os/signal"
	"syscall"
	"time"

	"github.com/hibiken/asynq"

	"sched/bench/field/drivers/joblist"
)

func main() {
	options := joblist.Parse()
	redis, err := asynq.ParseRedisURI(options.Store)
	joblist.Check(err)
	config := asynq.Config{LogLevel: asynq.DebugLevel, ErrorHandler: asynq.ErrorHandlerFunc(
		func(_ context.Context, task *asynq.Task, err error) {
			log.Print("task failed: ", task.Type(), " ", err)
		})}
	if options.Best {
		config.Concurrency = 100                    // the default is the number of processors
		config.ShutdownTimeout = joblist.LongestRun // the default is 8 s; then runs are aborted
	}
	server := asynq.NewServer(redis, config)
	scheduler := asynq.NewScheduler(redis, &asynq.SchedulerOpts{
		Location: time.Local, // the default is UTC
		LogLevel: asynq.DebugLevel,
		PostEnqueueFunc: func(_ *asynq.TaskInfo, err error) {
			if err != nil {
				log.Print("enqueue failed: ", err)
			}
		},
	})
	for _, job := range options.Jobs {
		_, err := scheduler.Register(job.Cron, asynq.NewTask(job.Name, []byte(job.Command)), taskOptions(options.Best, job)...)
		joblist.Check(err)
	}
	joblist.Check(server.Start(asynq.HandlerFunc(func(ctx context.Context, task *asynq.Task) error {
		return joblist.Job{Command: string(task.Payload())}.Run(ctx)
	})))
	joblist.Check(scheduler.Start())
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	<-ctx.Done()
	scheduler.Shutdown()
	server.Shutdown()
}

// taskOptions are from the page "Unique Tasks" of the wiki:
//   - Two tasks of one ID cannot be in the queue or run. So a SINGLE job does not overlap.
//   - Unique lets only the first of several schedulers enqueue, until the task has been processed.
//
// Retries stay as they are by default, 25. The recoverer uses them for a worker that was killed.
func taskOptions(best bool, job joblist.Job) []asynq.Option {
	switch {
	case !best:
		return nil
	case job.Single:
		return []asynq.Option{asynq.TaskID(job.Name)}
	default:
		return []asynq.Option{asynq.Unique(50 * time.Second)}
	}
}
