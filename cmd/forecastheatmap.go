package cmd

import (
	"fmt"
	"strings"

	"sched/cmd/terminal"
	"sched/schedule/forecast"
	"sched/schedule/text"
)

// heatSigns are the levels where a number has no room.
const heatSigns = ".-+x#"

// printHeatmap prints a line a day with the most runs at once in each hour. A terminal that is too narrow for numbers gets a sign for
// each level.
func (a forecastCommand) printHeatmap(f *forecast.Forecast) {
	out := a.stdout()
	width := max(2, len(fmt.Sprint(f.Peak.Most)))
	narrow := out.Width() > 0 && out.Width() < dayWidth+24*(width+1)
	if narrow {
		width = 0
	}
	fmt.Fprintln(a.out)
	fmt.Fprintln(a.out, strings.TrimRight(out.Paint(terminal.Faint, terminal.Pad("AT ONCE", dayWidth)+hourHeads(width)), " "))
	trouble := false
	for _, day := range f.Days() {
		line := terminal.Pad(day.Date.Format("Mon 01-02"), dayWidth)
		for _, cell := range day.Hours {
			line += heatCell(out, cell, width)
			trouble = trouble || cell.Trouble()
		}
		fmt.Fprintln(a.out, strings.TrimRight(line, " "))
	}
	switch {
	case narrow:
		fmt.Fprintf(a.out, "%s: from none to %s at once\n", heatSigns, text.Count(int(f.Peak.Most), "run"))
	case trouble:
		fmt.Fprintln(a.out, "! in this hour some start late or are skipped")
	}
}

const dayWidth = len("Mon 01-02 ")

// hourHeads are the numbers of the hours; on a narrow terminal only some have room.
func hourHeads(width int) string {
	var heads strings.Builder
	for hour := range 24 {
		switch {
		case width > 0:
			fmt.Fprintf(&heads, "%*s%02d ", width-2, "", hour)
		case hour%6 == 0:
			heads.WriteString(terminal.Pad(fmt.Sprintf("%02d", hour), 6))
		}
	}
	return heads.String()
}

// heatCell is an hour: its number, and a ! where something is late or skipped. A width of 0 has room for the sign of its level.
func heatCell(out terminal.Stream, cell forecast.Cell, width int) string {
	switch {
	case !cell.Exists:
		return terminal.Blanks(max(1, width+1))
	case width == 0:
		return out.Paint(terminal.Heat(cell.Level), heatSigns[cell.Level:cell.Level+1])
	}
	number, mark := ".", " "
	if cell.Most > 0 {
		number = fmt.Sprint(cell.Most)
	}
	if cell.Trouble() {
		mark = out.Paint(terminal.Bad, "!")
	}
	return out.Paint(terminal.Heat(cell.Level), terminal.Blanks(width-len(number))+number) + mark
}
