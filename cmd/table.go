package cmd

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// table aligns columns that are separated by tabs. On a terminal cells may have colours.
func table(w io.Writer) interface {
	io.Writer
	Flush() error
} {
	if s := look(w); s.there() {
		return &grid{out: w, screen: s}
	}
	return tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
}

// heads is the first line of a table.
func heads(w io.Writer, line string) string {
	names := strings.Split(line, "\t")
	for i := range names {
		names[i] = paint(w, faint, names[i])
	}
	return strings.Join(names, "\t")
}

// A grid is a table for a terminal. Its columns give way, if they may, until it is no wider than that.
type grid struct {
	out    io.Writer
	screen screen
	text   strings.Builder // a line for each row, with tabs between the cells
	gives  []giving
}

// A giving says that a column may become as narrow as least, or vanish where that is 0.
type giving struct{ column, least int }

// gap is how many columns of the terminal are between two of the table.
const gap = 2

func (g *grid) Write(text []byte) (int, error) { return g.text.Write(text) }

// Flush prints the table.
func (g *grid) Flush() error {
	var rows [][]string
	for line := range strings.Lines(g.text.String()) {
		rows = append(rows, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
	}
	g.text.Reset()
	limit := 0
	if len(g.gives) > 0 {
		limit = g.screen.width()
	}
	_, err := io.WriteString(g.out, layOut(g.screen, rows, g.gives, limit))
	return err
}

// layOut aligns rows in lines of at most limit columns; 0 is no limit.
func layOut(s screen, rows [][]string, gives []giving, limit int) string {
	widths := fit(widest(rows), gives, limit)
	var all strings.Builder
	for _, row := range rows {
		line, behind := "", 0
		for i, cell := range row {
			if widths[i] == 0 {
				continue
			}
			if limit > 0 {
				cell = s.cut(cell, widths[i])
			}
			if cell != "" {
				line += blanks(behind) + cell
				behind = -measure.String(cell)
			}
			behind += widths[i] + gap
		}
		if limit > 0 {
			line = s.cut(line, limit)
		}
		fmt.Fprintln(&all, line)
	}
	return all.String()
}

// widest returns how wide the widest cell of each column is.
func widest(rows [][]string) (widths []int) {
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], measure.String(cell))
		}
	}
	return widths
}

// fit makes columns narrower until a row has at most limit columns, if they can become as narrow as that:
// each as far as it may before the next one. What a column that vanishes leaves over they get back.
func fit(widths []int, gives []giving, limit int) []int {
	if limit == 0 {
		return widths
	}
	natural, over := slices.Clone(widths), -gap-limit
	for _, w := range widths {
		if w > 0 {
			over += w + gap
		}
	}
	for _, g := range gives {
		w := widths[g.column]
		switch {
		case over <= 0 || w == 0:
		case g.least == 0:
			widths[g.column], over = 0, over-w-gap
		case w > g.least:
			widths[g.column] = max(g.least, w-over)
			over -= w - widths[g.column]
		}
	}
	for _, g := range gives {
		if w := widths[g.column]; over < 0 && w > 0 {
			widths[g.column] = min(natural[g.column], w-over)
			over += widths[g.column] - w
		}
	}
	return widths
}
