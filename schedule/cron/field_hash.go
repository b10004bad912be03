package cron

import (
	"fmt"
	"hash/fnv"
	"strings"
)

// resolve replaces each H of a field, as in Jenkins: H and H(0-29) by a number made from the seed,
// H/15 by steps from such a number. A seed must give the same number in every version of sched:
// otherwise a job would run again after an update, or not at all.
func (f *cronField) resolve(text, seed string) (string, error) {
	if !strings.ContainsAny(text, "Hh") {
		return text, nil
	}
	elements := strings.Split(text, ",")
	for i, element := range elements {
		after, isHash := strings.CutPrefix(element, "H")
		if !isHash {
			after, isHash = strings.CutPrefix(element, "h")
		}
		if !isHash || after != "" && after[0] != '/' && after[0] != '(' {
			continue
		}
		var err error
		if elements[i], err = f.hashed(after, element, seed); err != nil {
			return "", err
		}
	}
	return strings.Join(elements, ","), nil
}

// hashed returns what an element that begins with H stands for. The text after the H is after.
func (f *cronField) hashed(after, element, seed string) (string, error) {
	low, high := f.min, f.top
	if f.pos == dayField {
		high = 28 // every month has it
	}
	if inner, isRange := strings.CutPrefix(after, "("); isRange {
		bounds, rest, closed := strings.Cut(inner, ")")
		if !closed || !strings.Contains(bounds, "-") || rest != "" && rest[0] != '/' {
			return "", wrong("%s %q is not understood", f.name, element).SetHint("write H(0-29) or H(0-29)/10")
		}
		var err error
		if low, high, err = f.bounds(bounds, element, true); err != nil {
			return "", err
		}
		after = rest
	}
	if after == "" {
		return fmt.Sprint(low + f.hash(seed, high-low+1)), nil
	}
	step, err := f.step(after[1:], element, "H")
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d-%d/%d", low+f.hash(seed, min(step, high-low+1)), high, step), nil
}

// hash returns a number from 0 to n-1. It spreads seeds evenly, and gives one seed another number
// in each field.
func (f *cronField) hash(seed string, n int) int {
	h := fnv.New64a()
	h.Write([]byte(f.name + "\x00" + seed))
	sum := h.Sum64()
	return int((sum ^ sum>>32) % uint64(n))
}
