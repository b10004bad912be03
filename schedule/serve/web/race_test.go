//go:build race

package web

// race is whether the tests run with the race detector, which makes everything some times slower.
const race = true
