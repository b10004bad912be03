package cluster

import (
	"fmt"
	"testing"
	"time"
)

func TestOffsetText(t *testing.T) {
	for offset, want := range map[time.Duration]string{
		45400 * time.Millisecond: "45 s ahead of the store's",
		-90 * time.Second:        "1 m 30 s behind the store's",
	} {
		if got := OffsetText(offset); got != want {
			t.Errorf("%s: %s", fmt.Sprint(offset), got)
		}
	}
}
