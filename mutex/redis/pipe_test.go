package redis_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Another user may put a named pipe in the place of a certificate. Nothing waits for what comes out
// of it.
func TestACertificateThatIsANamedPipeIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, parameters := range []string{"ca=" + pipe, "cert=" + pipe + "&key=" + pipe} {
		_, err := open(t, "shop", "rediss://127.0.0.1:1?"+parameters).Now(ctx)
		if err == nil || !strings.Contains(err.Error(), "a named pipe, not a file") {
			t.Errorf("%s: %v", parameters, err)
		}
	}
}
