package forecast

import "time"

// A Forecast is a forecast as --json prints it and the API answers it.
type Forecast struct {
	From     string           `json:"from"`
	To       string           `json:"to"`
	Timezone string           `json:"timezone"`
	Servers  int              `json:"servers"`
	Usual    ForecastSums     `json:"usual"`
	Crowded  []ForecastMinute `json:"crowded"`
	Hours    []ForecastHour   `json:"hours"`
	Tasks    []ForecastTask   `json:"tasks"`
	Notes    []Note           `json:"notes"`
}

// ForecastSums are the sums of a forecast.
type ForecastSums struct {
	Starts  int          `json:"starts"`
	Late    int          `json:"late"`
	Skipped map[Skip]int `json:"skipped"`
	Runs    ForecastPeak `json:"runs"`
	CPU     ForecastPeak `json:"cpu"`
	Memory  ForecastPeak `json:"memory"`
}

// A ForecastPeak is the most there is of something at one moment.
type ForecastPeak struct {
	Most float64 `json:"most"`
	At   *string `json:"at"`
}

// A ForecastMinute is a minute in which much starts.
type ForecastMinute struct {
	Minute string `json:"minute"`
	Starts int    `json:"starts"`
}

// A ForecastHour is an hour of the wall clock.
type ForecastHour struct {
	Start   string `json:"start"`
	Most    int    `json:"most"`
	Starts  int    `json:"starts"`
	Late    int    `json:"late"`
	Skipped int    `json:"skipped"`
}

// A ForecastTask is what the forecast has of one task.
type ForecastTask struct {
	Name     string          `json:"name"`
	Duration float64         `json:"duration"`
	Known    string          `json:"known"`
	Runs     int             `json:"runs"`
	Starts   int             `json:"starts"`
	Skipped  map[Skip]int    `json:"skipped"`
	Late     int             `json:"late"`
	Latest   *ForecastLatest `json:"latest"`
}

// A ForecastLatest is the run of a task that starts latest.
type ForecastLatest struct {
	Slot     string  `json:"slot"`
	Lateness float64 `json:"lateness"`
	Behind   *string `json:"behind"`
}

// JSON returns the forecast as programs get it.
func (r Report) JSON() Forecast {
	all := Forecast{
		From: UTC(r.From), To: UTC(r.To), Timezone: r.Schedule.Location.String(), Servers: r.Servers,
		Usual:   sumsOf(r.Sums),
		Crowded: []ForecastMinute{}, Hours: []ForecastHour{}, Tasks: []ForecastTask{}, Notes: append([]Note{}, r.Notes...),
	}
	for _, m := range r.Crowded {
		all.Crowded = append(all.Crowded, ForecastMinute{UTC(m.At), m.Starts})
	}
	for _, h := range r.Hours {
		all.Hours = append(all.Hours, ForecastHour{UTC(h.Start), h.Most, h.Starts, h.Late, h.Skipped})
	}
	for _, t := range r.Tasks {
		load := r.Loads[t.Name]
		one := ForecastTask{
			Name: t.Name, Duration: load.Took.Seconds(), Known: load.known(), Runs: load.Runs,
			Starts: t.Starts, Skipped: skipsOf(t.Skips), Late: t.LateRuns,
		}
		if t.LateRuns > 0 {
			one.Latest = &ForecastLatest{Slot: UTC(t.Latest.At), Lateness: t.Latest.Late().Seconds()}
			if t.Latest.By != nil {
				one.Latest.Behind = &t.Latest.By.Name
			}
		}
		all.Tasks = append(all.Tasks, one)
	}
	return all
}

func (l Load) known() string {
	if l.Runs > 0 {
		return "history"
	}
	return "unknown"
}

func sumsOf(f *Sums) ForecastSums {
	skips := map[Skip]int{}
	for _, kind := range Skips {
		skips[kind] = f.Skips(kind)
	}
	return ForecastSums{
		Starts: f.Starts, Late: f.LateRuns(), Skipped: skips,
		Runs: peakOf(f.Peak, 1), CPU: peakOf(f.CPU, 1000), Memory: peakOf(f.Memory, 1),
	}
}

// skipsOf has all kinds of skips, also kinds with no skip.
func skipsOf(skips map[Skip]int) map[Skip]int {
	all := map[Skip]int{}
	for _, kind := range Skips {
		all[kind] = skips[kind]
	}
	return all
}

func peakOf(p Peak, unit float64) ForecastPeak {
	peak := ForecastPeak{Most: float64(p.Most) / unit}
	if !p.At.IsZero() {
		at := UTC(p.At)
		peak.At = &at
	}
	return peak
}

// UTC is a time as JSON has it.
func UTC(t time.Time) string { return t.UTC().Format(time.RFC3339) }
