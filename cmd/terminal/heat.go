package terminal

// HeatLevels is how many shades Heat has.
const HeatLevels = 4

// Heat returns blue tones, which judge nothing: from level 1, pale, to HeatLevels, strong.
func Heat(level int) Tone {
	shades := [...]Tone{"", "48;5;153;38;5;16", "48;5;75;38;5;16", "48;5;26;38;5;231", "48;5;18;38;5;231"}
	return shades[max(0, min(level, HeatLevels))]
}
