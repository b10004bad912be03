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

func TestRisksOfAPrimaryAreReadFromWhatRedisSays(t *testing.T) {
	for info, want := range map[string]string{
		"connected_slaves:0\r\n":                             "Redis r:6379 has no replica: nothing takes over when it goes down",
		"connected_slaves:1\r\n":                             "Redis r:6379 takes writes while no replica gets them: a failover forgets what was granted meanwhile",
		"connected_slaves:1\r\nmin_slaves_good_slaves:1\r\n": "",
		"": "",
	} {
		said := ""
		for _, risk := range healthIn("r:6379", info, "60 1").Risks() {
			said += risk.Text
		}
		if said != want {
			t.Errorf("%q: %q", info, said)
		}
	}
}
