module sched.example/findings/dialects

go 1.26.5

require (
	github.com/aptible/supercronic v0.2.48
	github.com/robfig/cron/v3 v3.0.1
	github.com/sirupsen/logrus v1.9.4
)

require golang.org/x/sys v0.47.0 // indirect
