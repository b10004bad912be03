//go:build linux

package main

import (
	"strings"
	"testing"

	"sched/testing/redistest"
	"sched/testing/sqltest"
)

// A store is the Redis servers of a trial or its database, and the networks to them: a network for
// most servers of the schedule, and one for a few.
type store struct {
	redis     []*redistest.Server
	database  *sqltest.Server
	sentinels *redistest.Sentinels
	most, few []*redistest.Proxy // none with Sentinels, which name addresses of their own
}

// A kind says which store a trial has.
type kind int

const (
	one kind = iota
	three
	sentinel
	postgres
	mariadb
)

var databases = map[kind]sqltest.Kind{postgres: sqltest.Postgres, mariadb: sqltest.MariaDB}

// saves makes a redis-server keep each write, also when it is killed.
var saves = []string{"--appendonly", "yes", "--appendfsync", "always"}

func startStore(t testing.TB, k kind, options ...string) *store {
	if k == sentinel {
		return &store{sentinels: redistest.StartSentinels(t, options...)}
	}
	s := &store{}
	if database, is := databases[k]; is {
		s.database = sqltest.Start(t, database, options...)
		address := &redistest.Server{Address: s.database.Address}
		s.most, s.few = append(s.most, redistest.StartProxy(t, address)),
			append(s.few, redistest.StartProxy(t, address))
		return s
	}
	for range map[kind]int{one: 1, three: 3}[k] {
		r := redistest.Start(t, options...)
		s.redis = append(s.redis, r)
		s.most, s.few = append(s.most, redistest.StartProxy(t, r)), append(s.few, redistest.StartProxy(t, r))
	}
	return s
}

// url is the URL of the store for most servers, or for the few.
func (s *store) url(few bool) string {
	if s.sentinels != nil {
		return s.sentinels.URL
	}
	proxies := s.most
	if few {
		proxies = s.few
	}
	if s.database != nil {
		return strings.Replace(s.database.URL(""), s.database.Address,
			strings.TrimPrefix(proxies[0].URL, "redis://"), 1)
	}
	var urls []string
	for _, p := range proxies {
		urls = append(urls, p.URL)
	}
	return "[" + strings.Join(urls, ", ") + "]"
}

// set makes both networks to the first n servers of the store fail; the zero Fault mends them.
func (s *store) set(n int, f redistest.Fault) {
	for i := range n {
		s.most[i].Set(f)
		s.few[i].Set(f)
	}
}

// cutOff makes the network of the few servers fail, to all Redis servers.
func (s *store) cutOff(f redistest.Fault) {
	for _, p := range s.few {
		p.Set(f)
	}
}
