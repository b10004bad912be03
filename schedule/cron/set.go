package cron

import (
	"math/bits"
	"strconv"
	"strings"
)

// A set holds values of a field, a bit for each: minutes 0 to 59, days 1 to 31.
type set uint64

func (s set) has(v int) bool { return s>>v&1 == 1 }

// from returns the smallest value of the set that is v or larger.
func (s set) from(v int) (int, bool) {
	rest := s &^ (1<<v - 1)
	return bits.TrailingZeros64(uint64(rest)), rest != 0
}

// first returns the smallest value of a set that is not empty.
func (s set) first() int { return bits.TrailingZeros64(uint64(s)) }

func (s set) below(v int) set { return s & (1<<v - 1) }

func (s set) len() int { return bits.OnesCount64(uint64(s)) }

// String lists the values in ascending order, as a field of a cron expression does: "0,15,30".
func (s set) String() string {
	var values []string
	for v, ok := s.from(0); ok; v, ok = s.from(v + 1) {
		values = append(values, strconv.Itoa(v))
	}
	return strings.Join(values, ",")
}
