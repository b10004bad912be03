package cmd

import (
	"time"

	"sched/schedule/forecast"
)

type forecastJSON struct {
	From     string         `json:"from"`
	To       string         `json:"to"`
	Timezone string         `json:"timezone"`
	Servers  int            `json:"servers"`
	Usual    sumsJSON       `json:"usual"`
	Slow     sumsJSON       `json:"slow"`
	Crowded  []crowdedJSON  `json:"crowded"`
	Hours    []hourJSON     `json:"hours"`
	Tasks    []foreseenJSON `json:"tasks"`
	Notes    []note         `json:"notes"`
}

type sumsJSON struct {
	Starts  int                   `json:"starts"`
	Late    int                   `json:"late"`
	Skipped map[forecast.Skip]int `json:"skipped"`
	Runs    peakJSON              `json:"runs"`
	CPU     peakJSON              `json:"cpu"`
	Memory  peakJSON              `json:"memory"`
}

type peakJSON struct {
	Most float64 `json:"most"`
	At   *string `json:"at"`
}

type crowdedJSON struct {
	Minute string `json:"minute"`
	Starts int    `json:"starts"`
}

type hourJSON struct {
	Start   string `json:"start"`
	Most    int    `json:"most"`
	Starts  int    `json:"starts"`
	Late    int    `json:"late"`
	Skipped int    `json:"skipped"`
}

type foreseenJSON struct {
	Name         string                `json:"name"`
	Duration     float64               `json:"duration"`
	SlowDuration float64               `json:"slow_duration"`
	Known        string                `json:"known"`
	Runs         int                   `json:"runs"`
	Starts       int                   `json:"starts"`
	Skipped      map[forecast.Skip]int `json:"skipped"`
	Late         int                   `json:"late"`
	Latest       *latestJSON           `json:"latest"`
}

type latestJSON struct {
	Slot     string  `json:"slot"`
	Lateness float64 `json:"lateness"`
	Behind   *string `json:"behind"`
}

func (r foreseen) json() forecastJSON {
	usual, slow := r.forecast, r.worse
	all := forecastJSON{
		From: utc(usual.From), To: utc(usual.To), Timezone: r.Schedule.Location.String(), Servers: r.Servers,
		Usual: toSumsJSON(usual), Slow: toSumsJSON(slow),
		Crowded: []crowdedJSON{}, Hours: []hourJSON{}, Tasks: []foreseenJSON{}, Notes: append([]note{}, r.notes...),
	}
	for _, m := range usual.Crowded {
		all.Crowded = append(all.Crowded, crowdedJSON{utc(m.At), m.Starts})
	}
	for _, h := range usual.Hours {
		all.Hours = append(all.Hours, hourJSON{utc(h.Start), h.Most, h.Starts, h.Late, h.Skipped})
	}
	for _, t := range usual.Tasks {
		d := r.durations[t.Name]
		one := foreseenJSON{
			Name: t.Name, Duration: d.usual.Seconds(), SlowDuration: d.slow.Seconds(), Known: d.known, Runs: d.runs,
			Starts: t.Starts, Skipped: skippedJSON(t.Skips), Late: t.LateRuns,
		}
		if t.LateRuns > 0 {
			one.Latest = &latestJSON{Slot: utc(t.Latest.At), Lateness: t.Latest.Late().Seconds()}
			if t.Latest.By != nil {
				one.Latest.Behind = &t.Latest.By.Name
			}
		}
		all.Tasks = append(all.Tasks, one)
	}
	return all
}

func toSumsJSON(f *forecast.Forecast) sumsJSON {
	skips := map[forecast.Skip]int{}
	for _, kind := range forecast.Skips {
		skips[kind] = f.Skips(kind)
	}
	return sumsJSON{
		Starts: f.Starts, Late: lateRuns(f), Skipped: skips,
		Runs: toPeakJSON(f.Peak, 1), CPU: toPeakJSON(f.CPU, 1000), Memory: toPeakJSON(f.Memory, 1),
	}
}

// skippedJSON has all kinds of skips, also those that there are none of.
func skippedJSON(skips map[forecast.Skip]int) map[forecast.Skip]int {
	all := map[forecast.Skip]int{}
	for _, kind := range forecast.Skips {
		all[kind] = skips[kind]
	}
	return all
}

func toPeakJSON(p forecast.Peak, unit float64) peakJSON {
	peak := peakJSON{Most: float64(p.Most) / unit}
	if !p.At.IsZero() {
		at := utc(p.At)
		peak.At = &at
	}
	return peak
}

func utc(t time.Time) string { return t.UTC().Format(time.RFC3339) }
