package work

// backgroundRuns returns nothing: as under cron, background runs live on without us.
func backgroundRuns() []backgroundRun { return nil }
