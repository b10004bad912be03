package serve_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// The first page shows two schedules, and says of a third that it is broken. A token is good for
// the schedule it was made for.
func TestServeShowsSeveralSchedules(t *testing.T) {
	t.Parallel()
	b := newBox(t, "name: shop\ntasks: [{name: one, every: hour, command: 'true'}]\n")
	for _, folder := range []string{"mail", "broken"} {
		if err := os.Mkdir(b.Path(folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	b.Write("mail/schedule.yaml", "name: mail\ntasks: [{name: two, every: hour, command: 'true'}]\n")
	b.Write("broken/schedule.yaml", "tasks: [")
	s := b.Serve(func(*exec.Cmd) {}, "-c", "schedule.yaml", "-c", "mail/schedule.yaml", "-c", "broken/schedule.yaml")
	s.URL = strings.TrimSuffix(s.URL, "api/v1")
	for path, want := range map[string]struct {
		status int
		says   string
	}{
		"":                      {200, "broken/schedule.yaml is not served"},
		"s/shop/api/v1/tasks":   {200, `"name": "one"`},
		"s/mail/api/v1/tasks":   {401, "not one of this server"},
		"s/broken/api/v1/tasks": {404, "there is nothing at"},
		"api/v1/tasks":          {404, "each schedule is below /s/NAME/"},
	} {
		if status, body := s.Ask("GET", path, ""); status != want.status || !strings.Contains(body, want.says) {
			t.Errorf("%s: %d, %s", path, status, body)
		}
	}
}
