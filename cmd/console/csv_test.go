package console

import (
	"strings"
	"testing"
)

// Cells with commas, quotes and line breaks are quoted, and nothing is anything.
func TestCSVQuotesWhatItMust(t *testing.T) {
	type row struct {
		Text  string   `json:"text"`
		Maybe *int     `json:"maybe,omitempty"`
		Size  float64  `json:"size"`
		List  []string `json:"list"`
		Fine  bool     `json:"fine"`
		large int64    // not part of the JSON
	}
	seven := 7
	var out strings.Builder
	a := Console{Out: &out}
	a.PrintCSV([]row{
		{`a "b", c`, &seven, 0.0000001, []string{"x", "y, z"}, true, 1},
		{"two\nlines", nil, 12345678, nil, false, 2},
	})
	const want = "text,maybe,size,list,fine\r\n" +
		"\"a \"\"b\"\", c\",7,0.0000001,\"x; y, z\",true\r\n" +
		"\"two\r\nlines\",,12345678,,false\r\n"
	if out.String() != want {
		t.Errorf("got\n%q\nwant\n%q", out.String(), want)
	}
}
