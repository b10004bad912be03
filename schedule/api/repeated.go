package api

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"sched/schedule/api/problem"
	"sched/schedule/runfile"
	"sched/schedule/statedir"
)

// repeated remembers which run was asked for with which Idempotency-Key, on disk: for a day, and so many.
type repeated struct {
	dir string
	now func() time.Time
}

// A firstAsking is what the first request with a key asked for.
type firstAsking struct {
	At          time.Time
	Fingerprint string // of what was asked
	Request     runfile.Request
	Left        bool // for the ticks: a request that is killed before that leaves it when it is repeated
}

const (
	mostRepeated  = 1000
	repeatedLasts = 24 * time.Hour
	longestKey    = 200
)

// checkedKey returns what is remembered of the Idempotency-Key; "" where there is none.
func (r *request) checkedKey() (string, error) {
	if len(r.Header.Get("Idempotency-Key")) > longestKey {
		return "", problem.New(http.StatusBadRequest, "a UUID is fine", "the Idempotency-Key is longer than %d characters", longestKey)
	}
	return r.repeatedKey(), nil
}

// repeatedKey is the key as it is kept: hashed, with who asked, since two may choose the same.
func (r *request) repeatedKey() string {
	key := r.Header.Get("Idempotency-Key")
	if key == "" {
		return ""
	}
	return digest(r.who.Name, key)
}

// fingerprint is that of what is asked for.
func (r *request) fingerprint() string { return digest(r.Method, r.URL.Path, string(r.body)) }

func digest(parts ...string) string {
	text, _ := json.Marshal(parts)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

func (p *repeated) path() string { return filepath.Join(p.dir, "repeated.json") }

func (p *repeated) read() (map[string]firstAsking, error) {
	all := map[string]firstAsking{}
	text, err := statedir.ReadFile(p.path())
	if errors.Is(err, os.ErrNotExist) {
		return all, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read; remove it: %w", p.path(), err)
	}
	return all, nil
}

// known returns what was asked for with a key before.
func (p *repeated) known(key string) (firstAsking, bool, error) {
	all, err := p.read()
	one, ok := all[key]
	return one, ok && p.now().Sub(one.At) < repeatedLasts, err
}

// begin returns what was asked for with the key first: now, unless it was before. When it has returned that survives a power cut.
func (p *repeated) begin(key, fingerprint string, request runfile.Request) (first firstAsking, err error) {
	return first, p.change(func(all map[string]firstAsking) error {
		before, ok := all[key]
		if ok && before.Fingerprint != fingerprint {
			return problem.New(http.StatusUnprocessableEntity, "use another key", "the Idempotency-Key was used for something else")
		}
		if first = before; !ok {
			first = firstAsking{At: p.now(), Fingerprint: fingerprint, Request: request}
			all[key] = first
		}
		return nil
	})
}

// left remembers that the request was left for the ticks.
func (p *repeated) left(key string) error {
	return p.change(func(all map[string]firstAsking) error {
		one := all[key]
		one.Left = true
		all[key] = one
		return nil
	})
}

func (p *repeated) change(change func(map[string]firstAsking) error) error {
	return statedir.Exclusively(p.dir, func() error {
		all, err := p.read()
		if err != nil {
			return err
		}
		p.forget(all)
		if err := change(all); err != nil {
			return err
		}
		text, err := json.Marshal(all)
		if err != nil {
			return err
		}
		return statedir.Replace(p.path(), append(text, '\n'))
	})
}

// forget removes what is too old, and the oldest of too many.
func (p *repeated) forget(all map[string]firstAsking) {
	for key, one := range all {
		if p.now().Sub(one.At) >= repeatedLasts {
			delete(all, key)
		}
	}
	for len(all) >= mostRepeated {
		oldest := ""
		for key, one := range all {
			if oldest == "" || one.At.Before(all[oldest].At) {
				oldest = key
			}
		}
		delete(all, oldest)
	}
}
