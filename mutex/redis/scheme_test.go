package redis

import "testing"

func TestAURLWithAnotherSchemeLeadsToTheRightOne(t *testing.T) {
	for url, want := range map[string]string{
		"postgre://user:secret@db/shop": "did you mean postgres://?",
		"PG://db":                       "did you mean postgres://?",
		"mysqll://db":                   "did you mean mysql://?",
		"reddis://db":                   "did you mean redis://?",
		"redis:localhost":               "did you mean redis://?",
		"redis-sentinel://a,b,c/main":   "did you mean redis+sentinel://?",
		"valkey://db":                   "did you mean redis://?",
		"http://db":                     urlHint,
		"sqlite://db":                   urlHint,
		"localhost:6379":                urlHint,
		"localhost":                     urlHint,
		"rediss://db/x":                 urlHint, // the scheme is right
	} {
		if got := hintOf(url); got != want {
			t.Errorf("%s: %s", url, got)
		}
	}
}
