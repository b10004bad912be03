// Package stores opens the store that several servers share, by the scheme of its URL. It alone
// knows which drivers there are.
package stores

import (
	"slices"

	"sched/mutex"
	"sched/mutex/redis"
	"sched/mutex/sqlstore"
)

// Open prepares the store of a config. It does not connect: the first request does. The error is a
// *StoreError and quotes nothing of a URL that it could not read.
func Open(c mutex.Config) (store mutex.Store, err error) {
	if slices.ContainsFunc(c.Servers, sqlstore.IsURL) {
		store, err = sqlstore.Open(c)
	} else {
		store, err = redis.Open(c)
	}
	if err != nil {
		return nil, err // not a Store that holds a nil pointer
	}
	return store, nil
}

// Tables returns the SQL that makes the tables of a store in a database: see sqlstore.Tables.
func Tables(kind, prefix string) (text string, ok bool) { return sqlstore.Tables(kind, prefix) }
