package preflight

import "sync"

// A memo keeps the value of each key. Safe for concurrent use.
type memo[K comparable, V any] struct{ values sync.Map }

// get returns the value of the key. The first call for a key computes it; the others wait for it.
func (m *memo[K, V]) get(key K, compute func() V) V {
	value, known := m.values.Load(key)
	if !known {
		value, _ = m.values.LoadOrStore(key, sync.OnceValue(compute))
	}
	return value.(func() V)()
}
