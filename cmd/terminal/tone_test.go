package terminal

import "testing"

func TestPaint(t *testing.T) {
	colours := Stream{colour: true}
	for _, row := range []struct {
		tone       Tone
		text, want string
	}{
		{Good, "done", "\x1b[32mdone\x1b[0m"},
		{Faint, "aside", "\x1b[2maside\x1b[0m"},
		// what has no tone, and nothing at all
		{"", "done", "done"},
		{Bad, "", ""},
	} {
		if got := colours.Paint(row.tone, row.text); got != row.want {
			t.Errorf("%q with tone %q is %q, not %q", row.text, row.tone, got, row.want)
		}
	}
}

func TestMarksAreOneColumnWide(t *testing.T) {
	for _, row := range []struct {
		tone        Tone
		utf8, ascii string
	}{
		{Good, "✓", "+"},
		{Bad, "✗", "x"},
		{Caution, "–", "-"},
		{Active, "…", ">"},
		{"", "…", ">"},
	} {
		utf8, ascii := Stream{utf8: true}.Mark(row.tone), Stream{}.Mark(row.tone)
		if utf8 != row.utf8 || ascii != row.ascii || Width(utf8) != 1 || Width(ascii) != 1 {
			t.Errorf("tone %q: %q and %q, not %q and %q", row.tone, utf8, ascii, row.utf8, row.ascii)
		}
	}
}

func TestBar(t *testing.T) {
	for _, row := range []struct {
		part float64
		want string
	}{
		{0, "--------------------"},
		{0.049, "--------------------"},
		{0.3, "######--------------"},
		{1, "####################"},
		{1.5, "####################"},
	} {
		if got := (Stream{}).Bar(row.part); got != row.want {
			t.Errorf("%v: %q, not %q", row.part, got, row.want)
		}
	}
}
