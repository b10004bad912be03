package queue_test

import (
	"testing"

	"sched/mutex/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }
