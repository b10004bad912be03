// Package stores opens the store that several servers share, by the scheme of its URL. It alone
// knows which drivers there are.
package stores

import (
	"cmp"
	"slices"

	"sched/mutex"
	"sched/mutex/redis"
	"sched/mutex/sqlstore"
)

// Open prepares the store of a config. It does not connect: the first request does. The error is a
// *StoreError and quotes nothing of a URL that it could not read.
func Open(c mutex.Config) (mutex.Store, error) {
	c.Lease = cmp.Or(c.Lease, mutex.DefaultLease)
	open := redis.Open
	if slices.ContainsFunc(c.Servers, sqlstore.IsURL) {
		open = sqlstore.Open
	}
	store, err := open(c)
	if err != nil {
		return nil, err
	}
	return Opened(store), nil
}

// Opened returns a store that was just opened. Package testing/trace replaces it.
var Opened = func(s mutex.Store) mutex.Store { return s }

// Tables returns the SQL that makes the tables of a store in a database: see sqlstore.Tables.
func Tables(kind, prefix string) (text string, ok bool) { return sqlstore.Tables(kind, prefix) }
