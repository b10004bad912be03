package forecast

import (
	"encoding/xml"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sched/schedule/controls"
)

var update = flag.Bool("update", false, "write the pictures in testdata anew: look at each before it is committed")

// Each row is a picture in testdata: an hour a cell, the number of runs at once, red where something is late or skipped.
func TestPictures(t *testing.T) {
	for _, row := range []struct {
		name, zone, from string
		span             time.Duration
		took             map[string]string
		tasks            string
		change           func(*Input)
	}{
		{
			name: "clock-change", zone: "Europe/Berlin", from: "2026-10-24 00:00", span: 73 * time.Hour, // Sunday has 25 hours
			took: map[string]string{"nightly": "90m"},
			tasks: `tasks:
- {name: nightly, cron: "30 2 * * *", command: "true", background: true}
- {name: hourly, cron: "0 * * * *", command: "true", background: true}
`,
		}, {
			name: "pause", zone: "UTC", from: "2026-03-02 00:00", span: 24 * time.Hour,
			tasks: `tasks: [{name: hourly, cron: "30 * * * *", command: "true"}]`,
			change: func(in *Input) {
				in.Pauses = controls.Pauses{controls.Everything: {By: "ann", Server: "web-1", Since: in.From, Until: in.From.Add(6 * time.Hour)}}
			},
		}, {
			name: "holidays", zone: "Europe/Berlin", from: "2026-12-24 00:00", span: 3 * 24 * time.Hour,
			tasks: `holidays: [2026-12-25 Christmas]
tasks: [{name: daily, every: day at 12:00, command: "true", except: holidays}]
`,
		}, {
			name: "longer-than-its-interval", zone: "UTC", from: "2026-03-02 00:00", span: 24 * time.Hour, took: map[string]string{"sync": "3h10m"},
			tasks: `tasks: [{name: sync, cron: "0 */2 * * *", command: "true", background: true, without_overlapping: true}]`,
		}, {
			name: "one-mutex", zone: "UTC", from: "2026-03-02 00:00", span: 24 * time.Hour, took: map[string]string{"import": "90m", "export": "10m"},
			tasks: `defaults: {background: true, without_overlapping: true, mutex: db}
tasks:
- {name: import, cron: "0 2,8 * * *", command: "true"}
- {name: export, cron: "0 * * * *", command: "true"}
`,
		}, {
			name: "foreground-queue-behind", zone: "UTC", from: "2026-03-02 00:00", span: 24 * time.Hour, took: map[string]string{"long": "2h30m"},
			tasks: `tasks:
- {name: long, cron: "0 4 * * *", command: "true"}
- {name: behind, cron: "0 4 * * *", command: "true"}
- {name: hourly, cron: "0 * * * *", command: "true"}
`,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			in := input(t, row.zone, row.from, row.span, row.took, row.tasks)
			if row.change != nil {
				row.change(&in)
			}
			golden(t, filepath.Join("testdata", row.name+".svg"), Foresee(in).SVG(row.name))
		})
	}
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || got != string(want) {
		t.Errorf("%s: %v, got:\n%s", path, err, got)
	}
}

// Names of files come from people.
func TestAPictureIsXMLWhateverItsTitle(t *testing.T) {
	in := input(t, "UTC", "2026-03-02 00:00", time.Hour, nil, `tasks: [{name: a, cron: "* * * * *", command: "true"}]`)
	picture := Foresee(in).SVG("<b>&\"'\x1b]0;x\a")
	for d := xml.NewDecoder(strings.NewReader(picture)); ; {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("%v:\n%s", err, picture)
		}
	}
	if strings.Contains(picture, "<b>") {
		t.Errorf("%s", picture)
	}
}
