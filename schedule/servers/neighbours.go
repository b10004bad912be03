package servers

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"sched/mutex"
	"sched/schedule/boot"
	"sched/schedule/statedir"
)

// tickedLately is how long ago a machine may have ticked that counts as one that ticks.
const tickedLately = 3 * time.Minute

// Neighbours are what a machine finds wrong with the others of its store when it announces itself: one that has its name, and those of
// another environment. Safe for concurrent use.
type Neighbours struct {
	store                      *mutex.Redis
	dir                        string
	name, machine, environment string
	before                     bool    // this machine was announced under this name lately
	shared                     bool    // the last tick found another machine under this name
	noted                      Mixture // in the state folder; for Note alone

	mu            sync.Mutex
	same, another int  // Redis servers on which this machine, or another one, was announced last under its name, before this announcement
	found         bool // an earlier announcement of this tick found another machine
	environments  map[string]bool
}

// A Mixture is what is wrong with the servers of a store, as the last tick of this machine found it.
type Mixture struct {
	SharedName   bool     `json:"shared_name,omitempty"`  // another machine ticks under the name of this one
	Environments []string `json:"environments,omitempty"` // other ones than that of this machine, sorted
}

// NewNeighbours returns what the announcements of a tick use, given its state folder, server and environment: Also goes with each, and
// Found is what they found.
func NewNeighbours(r *mutex.Redis, dir, name, environment string) *Neighbours {
	n := &Neighbours{store: r, dir: dir, name: name, environment: environment, machine: machineIn(dir), noted: MixtureIn(dir), environments: map[string]bool{}}
	text, _ := statedir.ReadFile(announcedPath(dir))
	info, err := os.Stat(announcedPath(dir))
	n.before = err == nil && string(text) == n.announced() && time.Since(info.ModTime()).Abs() < tickedLately
	n.shared = n.before && n.noted.SharedName
	return n
}

func machinePath(dir string) string   { return filepath.Join(dir, "machine") }
func announcedPath(dir string) string { return filepath.Join(dir, "announced") }
func mixturePath(dir string) string   { return filepath.Join(dir, "servers-mixed.json") }

// machineIn tells this machine from others that have its host name: by its state folder, and by its boot where that is a copy too.
func machineIn(dir string) string {
	text, err := statedir.ReadFile(machinePath(dir))
	if errors.Is(err, os.ErrNotExist) {
		text = []byte(rand.Text() + "\n")
		err = statedir.Replace(machinePath(dir), text)
	}
	if err != nil {
		return "" // this machine cannot be told from others
	}
	return strings.TrimSpace(string(text)) + " " + boot.ID()
}

// announced is what is in the file whose time is that of the last announcement.
func (n *Neighbours) announced() string { return n.name + "\n" + n.machine + "\n" }

// Also says what others are told of this machine, and reads what it finds.
func (n *Neighbours) Also(ctx context.Context, p redis.Pipeliner, now time.Time) (read func()) {
	key, all := n.store.Key("server", n.name), n.store.Key("environments")
	last := p.HGet(ctx, key, "machine")
	p.HSet(ctx, key, "machine", n.machine, "environment", n.environment, "shared", strconv.FormatBool(n.shared || n.Found().SharedName))
	p.ZAdd(ctx, all, redis.Z{Score: float64(now.UnixMilli()), Member: n.environment})
	p.ZRemRangeByScore(ctx, all, "-inf", strconv.FormatInt(now.Add(-tickedLately).UnixMilli(), 10))
	p.PExpire(ctx, all, listedFor)
	others := p.ZRange(ctx, all, 0, -1)
	return func() {
		if last.Err() != nil { // its first announcement: nothing is known of it, and others may be of its own past
			return
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		switch last.Val() {
		case "":
		case n.machine:
			n.same++
		default:
			n.another++
		}
		for _, other := range others.Val() {
			if other != n.environment {
				n.environments[other] = true
			}
		}
	}
}

// Found returns what the announcements so far found.
func (n *Neighbours) Found() (m Mixture) {
	n.mu.Lock()
	defer n.mu.Unlock()
	m.SharedName = n.before && n.machine != "" && (n.found || n.another > n.same)
	for name := range n.environments {
		m.Environments = append(m.Environments, name)
	}
	slices.Sort(m.Environments)
	return m
}

// Note notes in the state folder that this machine was announced, and what was found, for status and for the next tick.
func (n *Neighbours) Note() {
	if path := announcedPath(n.dir); !n.before {
		statedir.Replace(path, []byte(n.announced())) //nolint: without it, nothing is found
	} else {
		now := time.Now()
		os.Chtimes(path, now, now)
	}
	found := n.Found()
	n.mu.Lock()
	n.found, n.same, n.another = found.SharedName, 0, 0 // what this machine announced itself is no proof against another one
	n.mu.Unlock()
	switch {
	case found.SharedName == n.noted.SharedName && slices.Equal(found.Environments, n.noted.Environments):
	case !found.SharedName && len(found.Environments) == 0:
		os.Remove(mixturePath(n.dir))
		n.noted = found
	default:
		n.noted = found
		statedir.Replace(mixturePath(n.dir), []byte(toJSON(found)+"\n")) //nolint: the tick says it, too
	}
}

// MixtureIn returns what the last tick found.
func MixtureIn(dir string) (m Mixture) {
	if text, err := statedir.ReadFile(mixturePath(dir)); err == nil {
		json.Unmarshal(text, &m) //nolint: what cannot be read says nothing
	}
	return m
}

// Texts says what is wrong, given the name and the environment of this machine.
func (m Mixture) Texts(name, environment string) (all []string) {
	if m.SharedName {
		all = append(all, "another machine ticks under the name "+name+", too")
	}
	if len(m.Environments) > 0 {
		all = append(all, "servers of this schedule tick in another environment: "+strings.Join(m.Environments, ", ")+" ("+name+" is in "+environment+")")
	}
	return all
}
