package terminal

import (
	"strings"
)

// A Tone is the meaning of a colour (ECMA-48, SGR). Plain text has the empty tone.
type Tone string

const (
	Good    Tone = "32" // green: it is as it should be
	Bad     Tone = "31" // red: it failed
	Caution Tone = "33" // yellow: it is not as one may expect
	Active  Tone = "36" // cyan: it goes on now
	Faint   Tone = "2"  // beside the point
)

// Paint gives text the colour of a tone if the stream shows colours.
func (s Stream) Paint(tone Tone, text string) string {
	if !s.colour || tone == "" || text == "" {
		return text
	}
	return "\x1b[" + string(tone) + "m" + text + "\x1b[0m"
}

// Mark is the sign in front of a line with that tone, painted, one column wide.
func (s Stream) Mark(tone Tone) string {
	sign, ascii := "…", ">"
	switch tone {
	case Good:
		sign, ascii = "✓", "+"
	case Bad:
		sign, ascii = "✗", "x"
	case Caution:
		sign, ascii = "–", "-"
	}
	if !s.utf8 {
		sign = ascii
	}
	return s.Paint(tone, sign)
}

// BarWidth is how many columns a bar takes.
const BarWidth = 20

// Bar shows which part of 1 is over. It can be read without colours, too.
func (s Stream) Bar(part float64) string {
	full, empty := "#", "-"
	if s.utf8 {
		full, empty = "━", "─"
	}
	n := min(int(part*BarWidth), BarWidth)
	return s.Paint(Active, strings.Repeat(full, n)) + s.Paint(Faint, strings.Repeat(empty, BarWidth-n))
}

// HeatLevels is how many shades Heat has.
const HeatLevels = 4

// Heat returns blue tones, which judge nothing: from level 1, pale, to HeatLevels, strong.
func Heat(level int) Tone {
	shades := [...]Tone{"", "48;5;153;38;5;16", "48;5;75;38;5;16", "48;5;26;38;5;231", "48;5;18;38;5;231"}
	return shades[max(0, min(level, HeatLevels))]
}
