package values

import "testing"

func TestDates(t *testing.T) {
	for text, want := range map[string]string{
		"2026-12-25": "2026-12-25", "12-25": "12-25", "02-29": "02-29", "2028-02-29": "2028-02-29", "0999-01-01": "0999-01-01",
		"2026-02-29": "none", "02-30": "none", "13-01": "none", "2026-00-10": "none", "2026-04-31": "none", "00-00": "none",
		"": "", "2026": "", "2026-12": "", "26-12-25": "", "2026-1-1": "", "1-1": "", "2026/12/25": "", "25.12.": "", "0000-01-01": "",
		"2026-12-25T": "", "2026--1-01": "", "+1-01": "", "12-2x": "", "2026-12-25-01": "",
	} {
		got := ""
		if date, ok := ParseDate(text); ok && !Exists(date) {
			got = "none"
		} else if ok {
			got = date.String()
		}
		if got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
