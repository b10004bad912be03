package mutex_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"sched/mutex"
)

type foreignValue struct {
	Name  string            `json:"name"`
	Notes []string          `json:"notes"`
	Cause *mutex.Holder     `json:"cause"`
	At    time.Time         `json:"at"`
	Any   any               `json:"any"`
	More  map[string]string `json:"more"`
}

func TestEveryTextFromAStoreIsCleaned(t *testing.T) {
	const evil, plain = "web-2\x1b]0;owned\x07\x1b[2J\nroot: ok\u202e", "web-2 root: ok"
	written, _ := json.Marshal(foreignValue{Name: evil, Notes: []string{evil, "fine"}, Cause: &mutex.Holder{Host: evil},
		Any: evil, More: map[string]string{evil: evil}})
	v, ok := mutex.Decode[foreignValue](written)
	if !ok || v.Name != plain || v.Notes[0] != plain || v.Notes[1] != "fine" || v.Cause.Host != plain || v.Any != nil ||
		len(v.More) != 1 || v.More[plain] != plain {
		t.Errorf("%t %+v", ok, v)
	}
}

func TestTextsFromAStoreAreBounded(t *testing.T) {
	long := strings.Repeat("ü", 5000)
	v, ok := mutex.Decode[foreignValue]([]byte(`{"name": "` + long + `"}`))
	if !ok || len(v.Name) > 1000 || !utf8.ValidString(v.Name) || !strings.HasSuffix(v.Name, "ü…") {
		t.Errorf("%t, %d bytes", ok, len(v.Name))
	}
	if _, ok := mutex.Decode[foreignValue]([]byte(`{"name": "` + strings.Repeat("a", 65<<10) + `"}`)); ok {
		t.Error("65 KiB are read")
	}
}

func TestTimesFromAStoreCanBePrinted(t *testing.T) {
	for text, zero := range map[string]bool{
		"2026-03-01T12:00:00Z":      false,
		"9999-12-31T23:59:59-23:59": true, // in UTC it is in the year 10000, which JSON cannot have
		"0001-01-01T00:00:00+10:00": true,
		"0000-05-01T00:00:00Z":      true,
	} {
		v, ok := mutex.Decode[foreignValue]([]byte(`{"at": "` + text + `"}`))
		if !ok || v.At.IsZero() != zero {
			t.Errorf("%s: %t %s", text, ok, v.At)
		}
		if _, err := json.Marshal(v.At.UTC()); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestWhatIsNoJSONOfOursIsLeftOut(t *testing.T) {
	for _, text := range []string{"", "{", "[]", `"web-1"`, `{"name": 7}`, `{"at": "noon"}`, strings.Repeat("[", 60000)} {
		if v, ok := mutex.Decode[foreignValue]([]byte(text)); ok || v.Name != "" {
			t.Errorf("%.20s is read as %+v", text, v)
		}
	}
}
