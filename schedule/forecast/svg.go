package forecast

import (
	"fmt"
	"strings"

	"sched/schedule/text"
)

// Measures of the picture, in pixels.
const (
	cellWidth, cellHeight  = 30, 24
	labelWidth, headHeight = 96, 64
)

// The fills of the levels, and the colours of the numbers on them: dark enough to read (WCAG 2.2, 1.4.3).
var (
	fills = [Levels + 1]string{"#f3f4f6", "#dbeafe", "#93c5fd", "#2563eb", "#1e3a8a"}
	inks  = [Levels + 1]string{"#4b5563", "#1e3a8a", "#111827", "#ffffff", "#ffffff"}
)

// SVG returns the heatmap as a picture: an hour a cell, with the number of runs at once, red around those in which something starts
// late or is skipped. It is the same for the same forecast, and needs no font but the reader's.
func (f *Forecast) SVG(title string) string {
	days := f.Days()
	var b strings.Builder
	width, height := labelWidth+24*cellWidth+16, headHeight+len(days)*cellHeight+36
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" role="img" `+
		`font-family="system-ui, sans-serif" font-size="12">`+"\n", width, height)
	fmt.Fprintf(&b, "<title>%s</title>\n", escape(title))
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", width, height)
	fmt.Fprintf(&b, `<text x="12" y="24" font-size="15" fill="#111827">%s</text>`+"\n", escape(title))
	for hour := range 24 {
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="middle" fill="#4b5563">%02d</text>`+"\n",
			labelWidth+hour*cellWidth+cellWidth/2, headHeight-8, hour)
	}
	for i, day := range days {
		y := headHeight + i*cellHeight
		fmt.Fprintf(&b, `<text x="12" y="%d" fill="#111827">%s</text>`+"\n", y+16, day.Date.Format("Mon 01-02"))
		for hour, cell := range day.Hours {
			if cell.Exists {
				drawCell(&b, labelWidth+hour*cellWidth, y, cell)
			}
		}
	}
	fmt.Fprintf(&b, `<text x="12" y="%d" fill="#4b5563">runs at once, by hour (%s); red: some start late or are skipped</text>`+"\n",
		height-12, escape(f.zone()))
	b.WriteString("</svg>\n")
	return b.String()
}

func drawCell(b *strings.Builder, x, y int, cell Cell) {
	stroke := ""
	if cell.Trouble() {
		stroke = ` stroke="#dc2626" stroke-width="2"`
	}
	fmt.Fprintf(b, `<g><title>%s</title><rect x="%d" y="%d" width="%d" height="%d" rx="3" fill="%s"%s/>`,
		escape(cell.Text()), x+1, y+1, cellWidth-3, cellHeight-3, fills[cell.Level], stroke)
	if cell.Most > 0 {
		fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="middle" fill="%s">%d</text>`, x+cellWidth/2, y+16, inks[cell.Level], cell.Most)
	}
	b.WriteString("</g>\n")
}

// Text says in words what is in a cell.
func (c Cell) Text() string {
	words := fmt.Sprintf("%s: at most %s at once, %s", c.Start.Format("Mon 2006-01-02 15:04"), text.Count(c.Most, "run"), text.Count(c.Starts, "start"))
	if c.Late > 0 {
		words += fmt.Sprintf(", %d late", c.Late)
	}
	if c.Skipped > 0 {
		words += fmt.Sprintf(", %d skipped", c.Skipped)
	}
	return words
}

// zone is the name of the zone of the hours.
func (f *Forecast) zone() string {
	if len(f.Hours) == 0 {
		return "UTC"
	}
	return f.Hours[0].Start.Location().String()
}

func escape(plain string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace(text.Line(plain))
}
