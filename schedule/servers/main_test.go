package servers

import (
	"testing"

	"sched/mutex/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }
