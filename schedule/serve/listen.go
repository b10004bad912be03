package serve

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"sched/schedule/view"
)

// Listen listens at host:port or unix:PATH. It refuses an address that other machines reach unless
// exposed is true: the server has TLS, or is behind a proxy with TLS.
func Listen(address string, exposed bool) (net.Listener, error) {
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		return listenUnix(path)
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, view.Fail(view.Invalid, "write it as 127.0.0.1:7323, [::1]:7323 or unix:PATH", "--listen %q is not an address", address)
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return nil, view.Fail(view.Invalid, "write a number from 1 to 65535, as in 127.0.0.1:7323", "--listen %s: %s is not a port", address, port)
	}
	if ip := net.ParseIP(host); !exposed && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, view.Fail(view.Invalid, "add --tls-cert and --tls-key, or --behind-proxy where a proxy speaks TLS; or listen at 127.0.0.1",
			"--listen %s is open to other machines, and tokens would be sent in the clear", address)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		hint := ""
		if errors.Is(err, unix.EADDRINUSE) {
			hint = "is another `sched serve` running there?"
		}
		return nil, view.Fail(view.Conflict, hint, "%w", err)
	}
	return newBounded(l), nil
}

// listenUnix listens at a socket that only its owner (and root) can open. It replaces a socket at
// which no process listens any more.
func listenUnix(path string) (net.Listener, error) {
	if info, err := os.Lstat(path); err == nil {
		if info.Mode()&os.ModeSocket == 0 {
			return nil, view.Fail(view.Conflict, "", "%s is there already, and is no socket", path)
		}
		if conn, err := net.DialTimeout("unix", path, time.Second); err == nil {
			conn.Close()
			return nil, view.Fail(view.Conflict, "is another `sched serve` running there?", "somebody listens at %s already", path)
		}
		os.Remove(path)
	}
	old := unix.Umask(0o177) // so that there is no moment in which others can open it
	l, err := net.Listen("unix", path)
	unix.Umask(old)
	if err != nil {
		return nil, view.Fail(view.Conflict, "", "%w", err)
	}
	return newBounded(l), nil
}

// URL returns the URL of a listener. If it listens at all addresses, the URL has the name.
func URL(l net.Listener, name, base string, secure bool) string {
	scheme := "http"
	if secure {
		scheme = "https"
	}
	if l.Addr().Network() == "unix" {
		return "unix:" + l.Addr().String()
	}
	address := l.Addr().String()
	if host, port, err := net.SplitHostPort(address); err == nil && net.ParseIP(host).IsUnspecified() {
		address = net.JoinHostPort(name, port)
	}
	return fmt.Sprintf("%s://%s%s/", scheme, address, base)
}
