package export

import (
	"fmt"

	"sched/cmd/app"
	"sched/cmd/exit"
	"sched/schedule"
	"sched/schedule/kubernetes"
	"sched/schedule/load"
)

// writeManifests prints the manifests, and what they do not do. Notes about all tasks are no loss
// of one: with them alone the exit code is 0.
func writeManifests(a *app.App, s *schedule.Schedule, o options) error {
	m, err := kubernetes.Export(s, kubernetes.Options{Image: o.image, Folder: o.folder, Now: a.Now()}, load.Settings)
	if err != nil {
		return exit.Failed("", "%w", err)
	}
	for _, note := range m.Notes {
		fmt.Fprintf(a.Err, "note: %s\n", note)
	}
	for _, remark := range m.Remarks {
		fmt.Fprintf(a.Err, "note: %s\n", remark)
	}
	for _, omitted := range m.Omitted {
		fmt.Fprintf(a.Err, "lost: %s\n", omitted)
	}
	if err := o.write(a, m.Text); err != nil {
		return err
	}
	if len(m.Omitted) > 0 {
		return &exit.Error{Code: exit.Failure}
	}
	return nil
}
