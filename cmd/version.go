package cmd

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"
)

// Version is the version of sched (CHANGELOG.md).
const Version = "0.1.0"

// A versionJSON is what `sched version --json` prints. Commit and Date are null in a binary that
// was built outside of a git repository.
type versionJSON struct {
	Version  string     `json:"version"`
	Commit   *string    `json:"commit"`
	Date     *time.Time `json:"date"` // of the commit
	Modified bool       `json:"modified"`
	Go       string     `json:"go"`
	OS       string     `json:"os"`
	Arch     string     `json:"arch"`
}

func newVersionCommand(a *app) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Example: `  sched version
  sched version --json`,
		Args: arguments(0, 0),
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return a.printJSON(versionOf(debug.ReadBuildInfo()))
			}
			fmt.Fprintf(a.out, "sched %s (%s/%s, %s)\n", Version, runtime.GOOS, runtime.GOARCH, runtime.Version())
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "as JSON, with the commit and its date")
	return c
}

func versionOf(info *debug.BuildInfo, ok bool) versionJSON {
	v := versionJSON{Version: Version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	if !ok {
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
