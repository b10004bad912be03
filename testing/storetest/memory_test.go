package storetest_test

import (
	"testing"

	"sched/mutex"
	"sched/testing/storetest"
)

func TestTheStoreInMemoryKeepsTheContract(t *testing.T) {
	storetest.Contract(t, func(*testing.T) func() mutex.Store {
		m := storetest.New()
		return func() mutex.Store { return m }
	})
}
