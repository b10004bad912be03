package load

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// simpleTasks returns a file of n tasks as most are.
func simpleTasks(n int) []byte {
	var b bytes.Buffer
	b.WriteString("timezone: UTC\ntasks:\n")
	for i := range n {
		fmt.Fprintf(&b, "  - name: task-%d\n    cron: \"%d %d * * *\"\n    command: php artisan task:run %d\n    background: true\n", i, i%60, i%24, i)
	}
	return b.Bytes()
}

func BenchmarkLoad(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		file := filepath.Join(b.TempDir(), "schedule.yaml")
		if err := os.WriteFile(file, simpleTasks(n), 0o600); err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("tasks=%d", n), func(b *testing.B) {
			for b.Loop() {
				if _, err := File(file, Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkArchive is what an edit costs the tick that keeps it.
func BenchmarkArchive(b *testing.B) {
	s, err := Text(simpleTasks(10_000), "/srv/schedule.yaml", Options{})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := s.Archive(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkBroken is a fault in the last task of many: what a broken edit costs every minute.
func BenchmarkBroken(b *testing.B) {
	data := append(simpleTasks(10_000), "  - name: a: b\n"...)
	for b.Loop() {
		if _, err := Text(data, "/srv/schedule.yaml", Options{}); err == nil {
			b.Fatal("no error")
		}
	}
}
