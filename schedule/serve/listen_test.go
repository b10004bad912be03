package serve_test

import (
	"net"
	"strings"
	"testing"

	"sched/schedule/serve"
	"sched/schedule/view"
)

func TestAnAddressThatIsWrongIsNoOtherServer(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for address, want := range map[string]string{
		"127.0.0.1:99999":     "--listen 127.0.0.1:99999: 99999 is not a port; write a number from 1 to 65535",
		"127.0.0.1:abc":       "abc is not a port; write a number",
		taken.Addr().String(): "address already in use; is another `sched serve` running there?",
		"localhost":           "is not an address; write it as",
	} {
		l, err := serve.Listen(address, false)
		if err == nil {
			l.Close()
			t.Errorf("%s: listens", address)
			continue
		}
		wrong, ok := err.(*view.Error)
		if !ok || !strings.Contains(wrong.Error()+"; "+wrong.Hint, want) {
			t.Errorf("%s: %v", address, err)
		}
	}
}
