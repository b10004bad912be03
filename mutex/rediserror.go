package mutex

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"sched/mutex/redisserver"
)

// A StoreError says why a store cannot be used, or does not answer: one of its servers, too many of them, or its config.
type StoreError = redisserver.Error

// joinErrors makes one *StoreError of those of too many among all servers.
func joinErrors(all int, errs []error) error {
	if all == 1 {
		return errs[0]
	}
	var texts []string
	var hint string
	for _, err := range errs {
		texts = append(texts, err.Error())
		if e := (*StoreError)(nil); hint == "" && errors.As(err, &e) {
			hint = e.Hint
		}
	}
	slices.Sort(texts) // they come in any order; the same outage should have the same text
	return &StoreError{Text: fmt.Sprintf("%d of %d servers of the store are of no use: %s", len(errs), all, strings.Join(texts, "; ")), Hint: hint}
}
