package cmd

import (
	"fmt"

	"sched/schedule/forecast"
	"sched/schedule/forecast/report"
	"sched/schedule/text"
)

// slotsOf are what becomes of each slot, in the order of their starts.
func slotsOf(in *report.Inputs) (all []forecast.Slot) {
	forecast.Simulate(in.Input, func(s *forecast.Slot) { all = append(all, *s) })
	return all
}

// printSlots prints a line for each slot.
func (a forecastCommand) printSlots(in *report.Inputs) {
	zone := in.Schedule.Location
	t := a.stdout().Table()
	t.Head("DUE", "TASK", "START", "")
	for _, s := range slotsOf(in) {
		start, words := "on time", ""
		switch {
		case s.Skip == forecast.Overlap:
			start, words = "skipped", s.By.Name+" still runs"
		case s.Skip == forecast.Full:
			start, words = "skipped", "pool "+s.Task.Pool.Name+" is full"
		case s.Skip != forecast.Runs:
			start, words = "skipped", s.Reason
		case s.Late() > 0 && s.By != nil:
			start, words = text.Duration(s.Late())+" late", "behind "+s.By.Name
		}
		if in.Servers > 1 && s.Skip == forecast.Runs {
			words = fmt.Sprintf("%s on server %d", words, s.Server+1)
		}
		t.Row(report.DayAndTime(s.At, zone), s.Task.Name, start, words)
	}
	t.Flush()
	a.printNotes(in.Notes)
}

type slotJSON struct {
	Task    string        `json:"task"`
	Slot    string        `json:"slot"`
	Skipped forecast.Skip `json:"skipped"`
	Late    float64       `json:"lateness"`
	Behind  *string       `json:"behind"`
	Reason  string        `json:"reason"`
	Server  int           `json:"server"`
}

func slotsJSON(in *report.Inputs) []slotJSON {
	all := []slotJSON{}
	for _, s := range slotsOf(in) {
		one := slotJSON{Task: s.Task.Name, Slot: report.UTC(s.At), Skipped: s.Skip, Late: s.Late().Seconds(), Reason: s.Reason, Server: s.Server + 1}
		if s.By != nil {
			one.Behind = &s.By.Name
		}
		all = append(all, one)
	}
	return all
}
