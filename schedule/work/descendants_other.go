//go:build !linux

package work

// adoptOrphans does nothing where the kernel knows no subreapers: background runs are init's there.
func adoptOrphans() {}

// backgroundRuns returns nothing: as under cron, background runs live on without us.
func backgroundRuns() []backgroundRun { return nil }
