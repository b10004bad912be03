package terminal

// HeatLevels is how many shades Heat has.
const HeatLevels = 4

// Heat returns the tone of a cell of a heatmap, from level 1, pale, to HeatLevels, strong: blue, so that it is none of the tones that
// judge. The numbers in the cells say the same.
func Heat(level int) Tone {
	shades := [...]Tone{"", "48;5;153;38;5;16", "48;5;75;38;5;16", "48;5;26;38;5;231", "48;5;18;38;5;231"}
	return shades[max(0, min(level, HeatLevels))]
}
