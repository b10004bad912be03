package sqlstore_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sched/mutex"
	"sched/mutex/sqlstore"
)

func TestAURLThatCannotBeUsedIsExplainedWithoutQuotingIt(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"redis://secret@a/jobs":                          "is not one URL like",
		"postgres://user:secret@":                        "is not one URL like",
		"postgres://user:secret@a":                       "is not one URL like",
		"postgres://user:secret@a/b/c":                   "is not one URL like",
		"postgres://a/jobs":                              "is not one URL like",
		"postgres://user:sec#ret@a/jobs":                 "is not one URL like",
		"postgres://user:secret@a/jobs#secret":           "is not one URL like",
		"postgres://user:sec/ret@a/jobs":                 "is not one URL like",
		"postgres://user:secret%zz@a/jobs":               "no valid URL",
		"postgres://user:secret@/jobs":                   "names no host",
		"mysql://user:secret@a,b/jobs":                   "names several hosts",
		"postgres://user:secret@a,/jobs":                 "is not one URL like",
		"postgres://user:secret@a/jobs?secret=1":         "not one of socket",
		"postgres://user:secret@a/jobs?sslmode=secret":   "sslmode=disable, prefer",
		"postgres://user:secret@a/jobs?prefix=secret;":   "no valid URL",
		"postgres://user:secret@a/jobs?prefix=a-secret":  "prefix=NAME",
		"mysql://user:secret@a/jobs?schema=jobs":         "not one of socket",
		"mysql://user:secret@a/jobs?prefix=a%60secret":   "prefix=NAME",
		"mysql://user:secret@a/jobs?sslrootcert=secret":  "which only sslmode=verify-full uses",
		"mysql://user:secret@a/jobs?socket=/run/s":       "names no host and no socket, or both",
		"mysql://user:secret@a/jobs?prefix=a_&prefix=b_": "not one of socket",
	} {
		_, err := sqlstore.Open(mutex.Config{Servers: []string{url}, Namespace: "shop"})
		var wrong *mutex.StoreError
		if !errors.As(err, &wrong) || !strings.Contains(wrong.Text, want) || wrong.Hint == "" {
			t.Errorf("%s: it does not say %q: %v", url, want, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s is quoted: %v", url, err)
		}
		if strings.HasPrefix(url, "mysql:") && strings.Contains(wrong.Text+wrong.Hint, "postgres") {
			t.Errorf("%s: the words are for another database: %s, %s", url, wrong.Text, wrong.Hint)
		}
	}
	for _, c := range []mutex.Config{
		{}, {Servers: []string{"mysql://u@a/b", "mysql://u@c/b"}},
	} {
		if _, err := sqlstore.Open(c); err == nil {
			t.Errorf("%+v is accepted", c)
		}
	}
}

func TestAPasswordIsInNoMessage(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"postgres://sched:top%40secret@127.0.0.1:1,127.0.0.1:2/jobs?sslmode=disable",
		"mysql://sched:top%40secret@127.0.0.1:1/jobs",
		"postgres://sched:top%40secret@no-such-host.invalid/jobs",
		"mysql://sched:top%40secret@a/jobs?sslmode=verify-full&sslrootcert=missing.pem",
		"postgres://sched:top%40secret@/jobs?socket=/no/such/.s.PGSQL.5432",
		"mysql://sched:top%40secret@/jobs?socket=/no/such",
	} {
		t.Run(url[:8]+fmt.Sprint(len(url)), func(t *testing.T) {
			t.Parallel()
			s := open(t, "shop", url)
			err := s.Claim(ctx, "slot", time.Now(), holder("run-1"))
			var down *mutex.StoreError
			if !errors.As(err, &down) {
				t.Errorf("%v", err)
			}
			if text := fmt.Sprintf("%v %+v %v", err, down, s.Config()); strings.Contains(text, "secret") {
				t.Errorf("the password is told: %s", text)
			}
		})
	}
}

// Another user may put a named pipe in the place of a certificate. Nothing waits for what comes out
// of it.
func TestACertificateThatIsANamedPipeIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, scheme := range []string{"postgres", "mysql"} {
		url := scheme + "://user:secret@127.0.0.1:1/jobs?sslmode=verify-full&sslrootcert=" + pipe
		s, err := sqlstore.Open(mutex.Config{Servers: []string{url}, Namespace: "shop"})
		if err == nil {
			_, err = s.Now(t.Context())
		}
		if err == nil || !strings.Contains(err.Error(), "cannot be reached with these settings") {
			t.Errorf("%s: %v", scheme, err)
		}
	}
}
