package stores_test

import (
	"errors"
	"strings"
	"testing"

	"sched/mutex"
	"sched/mutex/stores"
)

func TestAStoreIsOpenedByItsURL(t *testing.T) {
	for _, url := range []string{"redis://a", "postgres://sched@a/jobs", "mysql://sched@a/jobs",
		"mariadb://sched@a/jobs"} {
		good := mutex.Config{Servers: []string{url}, Namespace: "shop"}
		s, err := stores.Open(good)
		if err != nil || s.Config().Namespace != "shop" {
			t.Fatal(err)
		}
		s.Close()
	}

	bad := mutex.Config{Servers: []string{"mongodb://a"}, Namespace: "shop"}
	none, err := stores.Open(bad)
	var wrong *mutex.StoreError
	if none != nil || !errors.As(err, &wrong) || !strings.Contains(wrong.Text, "does not begin with redis://") {
		t.Errorf("%v, %v", none, err)
	}
}
