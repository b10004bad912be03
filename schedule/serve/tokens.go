package serve

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"sched/schedule/statedir"
	"sched/schedule/view"
)

// A Token is what is kept of a token: its hash. SHA-256 is enough for 32 random bytes.
type Token struct {
	Name  string    `json:"name"`
	Scope Scope     `json:"scope"`
	Task  string    `json:"task,omitempty"` // of the key of a hook or a badge
	Made  time.Time `json:"made"`
	Hash  string    `json:"hash"`

	Session *Session `json:"session,omitempty"` // of a browser; nil for other tokens
}

// tokenStart begins each token, so that one in a URL, a log or a repository is recognized.
const tokenStart = "sched_"

func tokenHash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

func newSecret() string {
	var random [32]byte
	rand.Read(random[:])
	return base64.RawURLEncoding.EncodeToString(random[:])
}

// MostTokens is how many tokens there may be.
const MostTokens = 1000

// AddToken makes a token for the schedule of the state folder, and returns its text, which is kept
// nowhere. The name must be new.
func AddToken(dir string, t Token) (text string, err error) {
	text = newSecret()
	if t.Scope != ScopeBadge && t.Scope != ScopeHook {
		text = tokenStart + text
	}
	t.Hash = tokenHash(text)
	err = changeTokens(dir, func(all []Token) ([]Token, error) {
		if n := len(all) - sessionsIn(all); n >= MostTokens {
			return nil, view.Fail(view.Conflict, "revoke some", "there are %d tokens already", n)
		}
		if slices.ContainsFunc(all, func(other Token) bool { return other.Name == t.Name }) {
			return nil, view.Fail(view.Conflict, "choose another --name, or revoke it",
				"there is a token called %q already", t.Name)
		}
		return append(all, t), nil
	})
	return text, err
}

func sessionsIn(all []Token) (n int) {
	for _, t := range all {
		if t.Session != nil {
			n++
		}
	}
	return n
}

// RevokeToken forgets the token or the session of that name, and the sessions that were begun with
// the token. They are refused from the next request on.
func RevokeToken(dir, name string) error {
	return changeTokens(dir, func(all []Token) ([]Token, error) {
		i := slices.IndexFunc(all, func(t Token) bool { return t.Name == name })
		if i < 0 {
			var names []string
			for _, t := range all {
				names = append(names, t.Name)
			}
			return nil, view.Fail(view.NotFound,
				strings.ReplaceAll(view.DidYouMean(name, names), "sched list", "sched serve token --list"),
				"there is no token called %q", name)
		}
		gone := all[i].Hash
		return slices.DeleteFunc(slices.Clone(all),
			func(t Token) bool { return t.Hash == gone || t.Session != nil && t.Session.Of == gone }), nil
	})
}

// Tokens returns the tokens that were made, oldest first, with the sessions.
func Tokens(dir string) ([]Token, error) {
	body, err := statedir.ReadFile(tokensPath(dir))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var all []Token
	if err == nil {
		err = json.Unmarshal(body, &all)
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", tokensPath(dir), err)
	}
	return all, nil
}

func tokensPath(dir string) string { return filepath.Join(dir, "tokens.json") }

func changeTokens(dir string, change func([]Token) ([]Token, error)) error {
	return statedir.Exclusively(dir, func() error {
		all, err := Tokens(dir)
		if err == nil {
			all, err = change(all)
		}
		if err != nil {
			return err
		}
		body, err := json.MarshalIndent(all, "", "  ")
		if err != nil {
			return err
		}
		return statedir.Replace(tokensPath(dir), append(body, '\n'))
	})
}

// tokens are the tokens as they are in the file now: it is read again when it has changed.
type tokens struct {
	dir string

	mu     sync.Mutex
	seen   string
	byHash map[string]Token

	inMemory []Token // sessions that end with the server
}

// find returns the token with the text. The error says why the file cannot be read: then nobody is
// let in.
func (t *tokens) find(text string) (Token, bool, error) {
	found, ok, err := t.findHash(tokenHash(text))
	return found, ok && found.Session == nil, err
}

func (t *tokens) findHash(hash string) (Token, bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, session := range t.inMemory {
		if session.Hash == hash {
			return session, true, nil
		}
	}
	info, err := os.Stat(tokensPath(t.dir))
	if errors.Is(err, os.ErrNotExist) {
		return Token{}, false, nil
	}
	if err != nil {
		return Token{}, false, err
	}
	if seen := fmt.Sprint(info.Size(), info.ModTime().UnixNano()); t.byHash == nil || seen != t.seen {
		all, err := Tokens(t.dir)
		if err != nil {
			return Token{}, false, err
		}
		t.byHash, t.seen = map[string]Token{}, seen
		for _, token := range all {
			t.byHash[token.Hash] = token
		}
	}
	found, ok := t.byHash[hash]
	return found, ok, nil
}

// remember keeps a session until the server ends.
func (t *tokens) remember(session Token, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.inMemory = withSession(t.inMemory, session, now)
}

// end forgets a session.
func (t *tokens) end(session Token) error {
	isMeant := func(token Token) bool { return token.Hash == session.Hash }
	t.mu.Lock()
	before := len(t.inMemory)
	t.inMemory = slices.DeleteFunc(t.inMemory, isMeant)
	forgotten := len(t.inMemory) < before
	t.mu.Unlock()
	if forgotten {
		return nil
	}
	return t.change(func(all []Token) ([]Token, error) { return slices.DeleteFunc(slices.Clone(all), isMeant), nil })
}

// change changes the file, and has it read again.
func (t *tokens) change(change func([]Token) ([]Token, error)) error {
	err := changeTokens(t.dir, change)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.byHash = nil
	return err
}

// attempts counts wrong tokens and login links by address. It decides only how soon wrong ones are
// answered: a right one is always let in at once, or any user of the machine could lock out all
// others. A token is one of 2^256, so guessing is hopeless even without it.
type attempts struct {
	now   func() time.Time
	delay time.Duration // attemptsDelay, but for tests

	mu     sync.Mutex
	failed map[string]tries
}

type tries struct {
	count int
	since time.Time
}

const (
	mostAttempts  = 10 // of one address, in attemptsSpan
	attemptsSpan  = time.Minute
	attemptsDelay = time.Second
	mostAddresses = 10_000 // more are forgotten together
)

// wrong counts a wrong attempt from an address, and returns how long its answer must wait.
func (a *attempts) wrong(address string) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.failed[address]
	if a.now().Sub(t.since) >= attemptsSpan {
		t = tries{since: a.now()}
	}
	if a.failed == nil || len(a.failed) >= mostAddresses {
		a.failed = map[string]tries{}
	}
	t.count++
	a.failed[address] = t
	if t.count <= mostAttempts {
		return 0
	}
	return a.delay
}
