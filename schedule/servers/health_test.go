package servers

import "testing"

func TestHealthIsReadFromWhatRedisSays(t *testing.T) {
	for _, test := range []struct {
		info, saves string
		evicts      string
		forgets     bool
	}{
		{"maxmemory:0\r\nmaxmemory_policy:allkeys-lru\r\naof_enabled:1\r\n", "", "", false}, // without a limit nothing is dropped
		{"maxmemory:1000\r\nmaxmemory_policy:allkeys-lru\r\naof_enabled:1\r\n", "", "allkeys-lru", false},
		{"maxmemory:1000\r\nmaxmemory_policy:noeviction\r\naof_enabled:0\r\n", "3600 1", "", false},
		{"maxmemory:1000\r\nmaxmemory_policy:noeviction\r\naof_enabled:0\r\n", "", "", true},
		{"maxmemory:1000\r\naof_enabled:0\r\n", "unknown", "", false}, // it may not be asked
		{"", "", "", false},
	} {
		h := healthIn("r:6379", test.info, test.saves)
		if h.Evicts != test.evicts || h.Forgets != test.forgets {
			t.Errorf("%q, %q: %+v", test.info, test.saves, h)
		}
	}
}
