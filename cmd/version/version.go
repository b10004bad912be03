// Package version is the command `sched version`.
package version

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"sched/cmd/app"
)

// A Version is what `sched version --json` prints. Commit and Date are null in a binary that
// was built outside of a git repository.
type Version struct {
	Version  string     `json:"version"`
	Commit   *string    `json:"commit"`
	Date     *time.Time `json:"date"` // of the commit
	Modified bool       `json:"modified"`
	Go       string     `json:"go"`
	OS       string     `json:"os"`
	Arch     string     `json:"arch"`
}

func New(a *app.App) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Example: `  sched version
  sched version --json`,
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				info, ok := debug.ReadBuildInfo()
				return a.PrintJSON(versionOf(info, ok))
			}
			fmt.Fprintf(a.Out, "sched %s (%s/%s, %s)\n", app.Version, runtime.GOOS, runtime.GOARCH, runtime.Version())
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "as JSON, with the commit and its date")
	return c
}

// versionOf returns the version, with what the build says of the commit if hasInfo is true.
func versionOf(info *debug.BuildInfo, hasInfo bool) Version {
	v := Version{Version: app.Version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	if !hasInfo {
		return v
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = &s.Value
		case "vcs.time":
			if at, err := time.Parse(time.RFC3339, s.Value); err == nil {
				v.Date = &at
			}
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}
