// Package takeover_test takes a machine over with a real cron, whose clock is fast, and gives it
// back.
package takeover_test

import (
	"testing"

	"sched/testing/schedtest"
)

func TestMain(m *testing.M) { schedtest.Main(m) }
