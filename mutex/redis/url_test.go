package redis_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"sched/mutex"
	"sched/mutex/redis"
)

func TestAConfigSaysWhatIsWrongWithIt(t *testing.T) {
	a, b, c := "redis://a", "redis://b", "redis://c"
	for _, tt := range []struct {
		servers []string
		want    string // a part of the error; empty: no error
	}{
		// one server, in all the ways to write it
		{[]string{a}, ""},
		{[]string{"redis://a:6380/2"}, ""},
		{[]string{"redis://user:secret@a"}, ""},
		{[]string{"redis://:secret@a"}, ""},
		{[]string{"redis://user:se%40cr%2Fet@a/0"}, ""},
		{[]string{"redis://user:se@cret@a"}, ""},
		{[]string{"redis://[::1]:6379"}, ""},
		{[]string{"rediss://a?skip_verify=true"}, ""},
		{[]string{"redis://a?db=2"}, ""},
		{[]string{"unix:///run/redis.sock"}, ""},
		{[]string{"unix://user:secret@/run/redis.sock?db=1"}, ""},

		// an odd number of servers, which must be different
		{[]string{a, b, c}, ""},
		{[]string{a, b, c, "redis://d", "redis://e"}, ""},
		{nil, "the store has no server"},
		{[]string{a, b}, "the store has 2 servers, and needs one or an odd number"},
		{[]string{a, b, c, "redis://d"}, "the store has 4 servers"},
		{[]string{a, b, "redis://a:6379"}, "URLs 1 and 3 of the store are of the same server, a:6379"},
		{[]string{a, b, "redis://:secret@b/1"}, "URLs 2 and 3 of the store are of the same server, b:6379"},
		{[]string{a, "redis://A", b}, "URLs 1 and 2 of the store are of the same server"},

		// no URL
		{[]string{""}, "the URL of the store does not begin with redis://"},
		{[]string{"secret"}, "does not begin with redis://"},
		{[]string{"http://user:secret@a"}, "does not begin with redis://"},
		{[]string{"secret:6379"}, "does not begin with redis://"},
		{[]string{"redis:secret"}, "does not begin with redis://"},
		{[]string{"redis://a:secret"}, "is not a URL"},
		{[]string{"redis://user:secret%zz@a"}, "is not a URL"},
		{[]string{"redis://user:1#secret@a"}, `has a "#" in it`},
		{[]string{"redis://user:1?secret@a"}, "not one of db"},
		{[]string{"redis://user:1/secret@a"}, "has a database that is not a number"},
		{[]string{"redis://secret@a"}, "has a user without a password"},
		{[]string{"redis://"}, "names no host"},
		{[]string{"redis:///1"}, "names no host"},
		{[]string{"redis://:secret@:6379"}, "names no host"},
		{[]string{"redis://a/first"}, "has a database that is not a number"},
		{[]string{"redis://a/-1"}, "has a database that is not a number"},
		{[]string{"redis://a/99999999999999999999"}, "has a database that is not a number"},
		{[]string{"redis://a?skip_verify=true"}, "not one of db"},
		{[]string{"redis://a?pool_size=9"}, "not one of db"},
		{[]string{"unix://run/redis.sock"}, "names no host, or no socket"},
		{[]string{"unix://"}, "names no host, or no socket"},

		// Sentinels, which have a name for the primary
		{[]string{"redis+sentinel://a,b,c/mymaster"}, ""},
		{[]string{"rediss+sentinel://user:secret@a:1,b:2,[::1]:3/mymaster/2?sentinel_user=u&sentinel_password=secret&ca=ca.pem"}, ""},
		{[]string{"redis+sentinel://a,b,c"}, "the URL of the store does not name the primary"},
		{[]string{"redis+sentinel://a,b,c/mymaster/first"}, "has a database that is not a number"},
		{[]string{"redis+sentinel://a,,c/mymaster"}, "names no host"},
		{[]string{"redis+sentinel://a,b:secret/mymaster"}, "is not a URL"},
		{[]string{"redis+sentinel://a/mymaster?master=secret"}, "not one of db, sentinel_user, sentinel_password"},
		{[]string{"sentinel://a/mymaster"}, "does not begin with redis://"},
		{[]string{"redis+sentinels://a/mymaster"}, "does not begin with redis://"},

		// a Cluster, which has no databases
		{[]string{"redis+cluster://a,b,c"}, ""},
		{[]string{"rediss+cluster://:secret@a:7000,b:7001,c/?ca=ca.pem&server_name=redis.internal"}, ""},
		{[]string{"redis+cluster://a,b/2"}, "has a path or a database, and a Redis Cluster has none"},
		{[]string{"redis+cluster://a,b?db=2"}, "has a path or a database, and a Redis Cluster has none"},
		{[]string{"redis+cluster://a?sentinel_password=secret"}, "not one of db"},

		// certificates
		{[]string{"rediss://a?ca=ca.pem&cert=c.pem&key=/k.pem"}, ""},
		{[]string{"redis://a?ca=ca.pem"}, "has a parameter that is empty, there twice, or not one of db"},
		{[]string{"rediss://a?cert=secret.pem"}, "has a certificate without its key"},
		{[]string{"rediss://a?ca="}, "has a parameter that is empty"},
		{[]string{"rediss://a?skip_verify=false"}, "not one of db"},
		{[]string{"redis://a,b,c"}, "names several hosts"},
		{[]string{a, b, "redis+sentinel://c/mymaster"},
			"URL 3 of the store is of Sentinels or of a Cluster, in a list of servers"},
		{[]string{a, b, "redis://c:secret"}, "URL 3 of the store is not a URL"},
	} {
		c := mutex.Config{Servers: tt.servers, Namespace: "shop"}
		_, err := redis.Open(c)
		if tt.want == "" {
			if err != nil {
				t.Errorf("%q: %v", tt.servers, err)
			}
			continue
		}
		var wrong *mutex.StoreError
		if !errors.As(err, &wrong) || !strings.Contains(wrong.Text, tt.want) {
			t.Errorf("%q: %v, and not: %s", tt.servers, err, tt.want)
			continue
		}
		if wrong.Hint == "" && tt.servers != nil || strings.Contains(fmt.Sprintf("%+v %#v", wrong, err), "secret") {
			t.Errorf("%q: %#v", tt.servers, wrong)
		}
	}
}

// A schedule with `lease: 48h` is valid: its store must open, or every command panics.
func TestALeaseMayLastForDays(t *testing.T) {
	if _, err := redis.Open(mutex.Config{Servers: []string{"redis://a"}, Namespace: "shop",
		Lease: 48 * time.Hour}); err != nil {
		t.Error(err)
	}
}
