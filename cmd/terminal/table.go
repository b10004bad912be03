package terminal

import (
	"io"
	"slices"
	"strings"
)

// A Table aligns cells in columns, Gap columns apart, when Flush writes it. On a narrow terminal
// columns shrink in the caller's order, then vanish, and later ones get back what is left. No
// library that we know has such an order.
type Table struct {
	out     Stream
	shrinks []Shrink
	rows    [][]string
}

// A Shrink says that a column may become as narrow as Least, or vanish if Least is 0.
type Shrink struct{ Column, Least int }

// NewTable returns an empty table. On a narrow terminal its columns shrink in this order, each as
// far as it may before the next one. If that is not enough, lines are cut. Without shrinks, and in
// a pipe, nothing is cut.
func NewTable(out Stream, shrinks ...Shrink) *Table { return &Table{out: out, shrinks: shrinks} }

// Head adds a row with the names of the columns.
func (t *Table) Head(names ...string) {
	row := make([]string, len(names))
	for i, name := range names {
		row[i] = t.out.Paint(Faint, name)
	}
	t.Row(row...)
}

// Row adds a row. All rows of a table have the same number of cells; a cell is one line, and may
// have colours.
func (t *Table) Row(cells ...string) { t.rows = append(t.rows, cells) }

// Flush writes the table at once, and empties it.
func (t *Table) Flush() {
	limit := 0
	if len(t.shrinks) > 0 {
		limit = t.out.Width()
	}
	io.WriteString(t.out, t.layOut(limit))
	t.rows = nil
}

// layOut returns the text of the table, in lines of at most limit columns; 0 for no limit.
func (t *Table) layOut(limit int) string {
	widths := fit(widest(t.rows), t.shrinks, limit)
	var text strings.Builder
	for _, row := range t.rows {
		text.WriteString(t.line(row, widths, limit) + "\n")
	}
	return text.String()
}

// line is one row of the table. In a pipe each column has its place in each line, and blanks at the
// end stay, because programs may count them. On a terminal a column without text takes no place,
// and there are no blanks at the end, because they might wrap.
func (t *Table) line(row []string, widths []int, limit int) string {
	line := ""
	for i, cell := range row {
		switch {
		case t.out.IsTerminal() && widths[i] == 0:
			continue
		case limit > 0:
			cell = t.out.Cut(cell, widths[i])
		}
		if i < len(row)-1 {
			cell = Pad(cell, widths[i]+Gap)
		}
		line += cell
	}
	if t.out.IsTerminal() {
		line = strings.TrimRight(line, " ")
	}
	if limit > 0 {
		line = t.out.Cut(line, limit)
	}
	return line
}

// widest returns the width of each column.
func widest(rows [][]string) (widths []int) {
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], Width(cell))
		}
	}
	return widths
}

// fit makes columns narrower until a row has at most limit columns, if they can become that narrow.
// Each column shrinks as far as it may before the next one. If a column vanishes, the others get
// back the space that is left over.
func fit(widths []int, shrinks []Shrink, limit int) []int {
	if limit == 0 {
		return widths
	}
	natural := slices.Clone(widths)
	excess := -Gap - limit // behind the last column is no gap
	for _, width := range widths {
		if width > 0 {
			excess += width + Gap
		}
	}
	// 1. Columns shrink in their order while the row is too wide.
	for _, s := range shrinks {
		width := widths[s.Column]
		if excess <= 0 || width == 0 {
			continue
		}
		switch {
		case s.Least == 0:
			widths[s.Column] = 0
			excess -= width + Gap
		case width > s.Least:
			widths[s.Column] = max(s.Least, width-excess)
			excess -= width - widths[s.Column]
		}
	}
	// 2. If a column vanished, the other ones get back what is left over.
	for _, s := range shrinks {
		if width := widths[s.Column]; excess < 0 && width > 0 {
			widths[s.Column] = min(natural[s.Column], width-excess)
			excess += widths[s.Column] - width
		}
	}
	return widths
}
