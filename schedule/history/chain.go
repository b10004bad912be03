package history

import (
	"encoding/json"
	"time"

	"sched/schedule/outcome"
)

// rare is the column chain of a run: what came before it, what after, and how long it waited. Few runs have any of it.
type rare struct {
	Cause     *outcome.Cause      `json:"cause,omitempty"`
	Triggered []outcome.Triggered `json:"triggered,omitempty"`
	Waited    time.Duration       `json:"waited,omitempty"`
}

func packChain(r outcome.Record) (any, error) {
	if r.Cause == nil && len(r.Triggered) == 0 && r.Waited == 0 {
		return nil, nil
	}
	b, err := json.Marshal(rare{r.Cause, r.Triggered, r.Waited})
	return string(b), err
}

func unpackChain(text []byte, r *outcome.Record) error {
	var has rare
	err := json.Unmarshal(text, &has)
	r.Cause, r.Triggered, r.Waited = has.Cause, has.Triggered, has.Waited
	return err
}
