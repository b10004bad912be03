// Package stores opens the store that several servers share, by the scheme of its URL. It alone
// knows which drivers there are.
package stores

import (
	"sched/mutex"
	"sched/mutex/redis"
)

// Open prepares the store of a config. It does not connect: the first request does. The error is a
// *StoreError and quotes nothing of a URL that it could not read.
func Open(c mutex.Config) (mutex.Store, error) {
	s, err := redis.Open(c)
	if err != nil {
		return nil, err // not a Store that holds a nil pointer
	}
	return s, nil
}
