package redistest

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"time"
)

// Traffic counts the requests to a Redis.
type Traffic struct {
	Connections int            // on which something was asked
	Commands    map[string]int // by their names in upper case; commands of scripts are not counted
}

// Sum is how many commands there were.
func (t Traffic) Sum() (n int) {
	for _, times := range t.Commands {
		n += times
	}
	return n
}

// TrafficOf returns the traffic of the server while f runs, as the server counts it (MONITOR).
func (s *Server) TrafficOf(t testing.TB, f func()) Traffic {
	t.Helper()
	monitor := dial(t, s.Address)
	defer monitor.Close()
	lines := bufio.NewScanner(monitor)
	lines.Buffer(nil, 16<<20) // a line has all arguments of a command
	fmt.Fprint(monitor, "MONITOR\r\n")
	if !lines.Scan() || lines.Text() != "+OK" {
		t.Fatalf("MONITOR: %q, %v", lines.Text(), lines.Err())
	}
	type seen struct {
		traffic Traffic
		err     error
	}
	end, all := fmt.Sprintf("end-of-%d", rand.Int64()), make(chan seen, 1)
	go func() {
		from, found := map[string]bool{}, Traffic{Commands: map[string]int{}}
		for lines.Scan() {
			_, line, _ := strings.Cut(lines.Text(), "[")
			client, command, _ := strings.Cut(line, "] ")
			if strings.HasSuffix(client, " lua") {
				continue
			}
			if strings.Contains(command, end) {
				found.Connections = len(from)
				all <- seen{traffic: found}
				return
			}
			name, _, _ := strings.Cut(command, " ")
			from[client] = true
			found.Commands[strings.ToUpper(strings.Trim(name, `"`))]++
		}
		all <- seen{err: fmt.Errorf("the connection that watches ended: %w", lines.Err())}
	}()
	f()
	last := dial(t, s.Address)
	defer last.Close()
	fmt.Fprintf(last, "ECHO %s\r\n", end)
	got := <-all
	if got.err != nil {
		t.Fatal(got.err)
	}
	return got.traffic
}

// dial returns a connection on which something comes within a minute, or an error.
func dial(t testing.TB, address string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	c.SetDeadline(time.Now().Add(time.Minute))
	return c
}
