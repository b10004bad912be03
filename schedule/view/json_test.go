package view

import (
	"bytes"
	"encoding/json"
	"testing"
)

// What is printed is what json.Indent makes of it.
func FuzzIndented(f *testing.F) {
	for _, text := range []string{
		`{}`, `[]`, `""`, `null`, `-1.5e9`, `[[],{},[{}]]`, `{"a":{"b":[1,2,{"c":"}]{[,:\\\""}]},"":[]}`, `[[[[[[[[[[1]]]]]]]]]]`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var compact, want bytes.Buffer
		if json.Compact(&compact, text) != nil {
			return
		}
		if err := json.Indent(&want, compact.Bytes(), "", "  "); err != nil {
			t.Fatal(err)
		}
		if got := indented(compact.Bytes()); !bytes.Equal(got, want.Bytes()) {
			t.Errorf("%s:\n%s\nwant:\n%s", compact.Bytes(), got, want.Bytes())
		}
	})
}
