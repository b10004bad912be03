//go:build linux

package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"
)

// Sizes in pixels. A text is stretched to the columns that it takes, so any monospaced font will
// do.
const (
	charWidth  = 8.0
	lineHeight = 20.0
	margin     = 20.0
	bar        = 34.0 // of the window, above the text
	baseline   = 13.0 // of a text, below the top of its line
)

// classes are the names of the colours in the style sheet.
var classes = map[string]string{"1": "typed", "2": "faint", "31": "bad", "32": "good", "33": "wary", "36": "busy"}

// style has the colours for light and for dark pages. The window has a background of its own, so
// the picture can be read on any page.
const style = `
    text { font: 13px ui-monospace, SFMono-Regular, "SF Mono", Menlo, Consolas, "Liberation Mono", "DejaVu Sans Mono", monospace; white-space: pre; fill: #1f2328; }
    .window { fill: #ffffff; stroke: #d1d9e0; }
    .bar { fill: #f6f8fa; stroke: #d1d9e0; }
    .dot { fill: #d1d9e0; }
    .typed { font-weight: 600; }
    .faint { fill: #59636e; }
    .good { fill: #1a7f37; }
    .bad { fill: #d1242f; }
    .wary { fill: #9a6700; }
    .busy { fill: #1b7c83; }
    @media (prefers-color-scheme: dark) {
      text { fill: #f0f6fc; }
      .window { fill: #0d1117; stroke: #3d444d; }
      .bar { fill: #151b23; stroke: #3d444d; }
      .dot { fill: #3d444d; }
      .faint { fill: #9198a1; }
      .good { fill: #3fb950; }
      .bad { fill: #f85149; }
      .wary { fill: #d29922; }
      .busy { fill: #39c5cf; }
    }
  `

// render draws the lines of a terminal in a window.
func render(rows [][]cell) []byte {
	width, height := 2*margin+columns*charWidth, bar+2*margin+float64(len(rows))*lineHeight
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" width="%g" height="%g" role="img" aria-labelledby="title">`+"\n", width, height, width, height)
	fmt.Fprintf(&b, "  <title id=\"title\">sched run and sched list on a terminal</title>\n  <style>%s</style>\n", style)
	fmt.Fprintf(&b, `  <rect class="window" x="0.5" y="0.5" width="%g" height="%g" rx="8"/>`+"\n", width-1, height-1)
	fmt.Fprintf(&b, `  <path class="bar" d="M0.5 %g V8.5 a8 8 0 0 1 8 -8 H%g a8 8 0 0 1 8 8 V%g Z"/>`+"\n", bar, width-8.5, bar)
	for i := range 3 {
		fmt.Fprintf(&b, `  <circle class="dot" cx="%g" cy="%g" r="6"/>`+"\n", margin+float64(i)*20, bar/2)
	}
	for i, row := range rows {
		y := bar + margin + float64(i)*lineHeight + baseline
		for _, part := range parts(row) {
			class := ""
			if name := classes[part.colour]; name != "" {
				class = ` class="` + name + `"`
			}
			n := float64(len([]rune(part.text)))
			fmt.Fprintf(&b, `  <text%s x="%g" y="%g" textLength="%g" lengthAdjust="spacingAndGlyphs">`, class, margin+float64(part.col)*charWidth, y, n*charWidth)
			xml.EscapeText(&b, []byte(part.text))
			b.WriteString("</text>\n")
		}
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// A part is text of one colour within a line.
type part struct {
	col    int
	text   string
	colour string
}

// parts cuts a line where the colour changes and where there are two blanks or more.
func parts(row []cell) (all []part) {
	var text strings.Builder
	begin := 0
	end := func(i int) {
		whole := text.String()
		trimmed := strings.TrimLeft(whole, " ")
		begin += len(whole) - len(trimmed)
		if trimmed = strings.TrimRight(trimmed, " "); trimmed != "" {
			all = append(all, part{begin, trimmed, row[begin].colour})
		}
		text.Reset()
		begin = i
	}
	for i, c := range row {
		gap := strings.HasSuffix(text.String(), "  ") && c.char != ' '
		if i > 0 && (c.colour != row[i-1].colour || gap) {
			end(i)
		}
		text.WriteRune(c.char)
	}
	end(len(row))
	return all
}
