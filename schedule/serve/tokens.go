package serve

import (
	"cmp"
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
	"sync"
	"time"

	"sched/schedule/humanize"
	"sched/schedule/statedir"
	"sched/schedule/view"
	"sched/schedule/yamldoc"
)

// A Token is the record of a secret, which is a token, a key or the cookie of a session. It has the
// hash of the secret, never the secret. SHA-256 is enough for 32 random bytes.
type Token struct {
	Name  string    `json:"name"`
	Scope Scope     `json:"scope"`
	Task  string    `json:"task,omitempty"` // of the key of a hook or a badge
	Made  time.Time `json:"made"`
	Hash  string    `json:"hash"`

	Session *Session `json:"session,omitempty"` // of a browser; nil for other tokens
}

// A Session is what a Token has besides if it is for one browser, which sends it in a cookie. A
// session ends by itself, and when the token with which it was begun is revoked.
type Session struct {
	By        string    `json:"by"`             // the name of that token, or "login link"
	TokenHash string    `json:"of,omitempty"`   // of that token; "" for a login link
	User      string    `json:"user,omitempty"` // the id of the only user of this machine who may use it; "" for everybody
	Until     time.Time `json:"until"`
}

// tokenStart begins each token, so that one in a URL, a log or a repository is recognized.
const tokenStart = "sched_"

// tokenPattern matches tokens, and not the names of tasks that begin in the same way.
var tokenPattern = humanize.Pattern(tokenStart + `[A-Za-z0-9_-]{43}`)

func tokenHash(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

func newSecret() string {
	var random [32]byte
	rand.Read(random[:])
	return base64.RawURLEncoding.EncodeToString(random[:])
}

// MostTokens is how many tokens there may be.
const MostTokens = 1000

// AddToken makes a token for the schedule of the state folder, and returns the secret, which is
// kept nowhere. The name must be new.
func AddToken(dir string, t Token) (secret string, err error) {
	secret = newSecret()
	if !t.Scope.OfKeys() {
		secret = tokenStart + secret
	}
	t.Hash = tokenHash(secret)
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
	return secret, err
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
				cmp.Or(yamldoc.DidYouMean(humanize.Nearest(name, names)), "see `sched serve token --list`"),
				"there is no token called %q", name)
		}
		revoked := all[i].Hash
		return slices.DeleteFunc(slices.Clone(all),
			func(t Token) bool { return t.Hash == revoked || t.Session != nil && t.Session.TokenHash == revoked }), nil
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

func changeTokens(dir string, edit func([]Token) ([]Token, error)) error {
	return statedir.Exclusively(dir, func() error {
		all, err := Tokens(dir)
		if err == nil {
			all, err = edit(all)
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

// A keyring has the tokens and sessions as they are now. It reads their file again when the file
// has changed.
type keyring struct {
	dir string

	mu     sync.Mutex
	stamp  string // of the file that byHash was read from
	byHash map[string]Token

	inMemory []Token // sessions that end with the server
}

// find returns the token of a secret. It finds no session: see findHash. The error says why the
// file cannot be read: then nobody is let in.
func (k *keyring) find(secret string) (Token, bool, error) {
	found, ok, err := k.findHash(tokenHash(secret))
	return found, ok && found.Session == nil, err
}

// findHash returns the token or the session with a hash.
func (k *keyring) findHash(hash string) (Token, bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, session := range k.inMemory {
		if session.Hash == hash {
			return session, true, nil
		}
	}
	info, err := os.Stat(tokensPath(k.dir))
	if errors.Is(err, os.ErrNotExist) {
		return Token{}, false, nil
	}
	if err != nil {
		return Token{}, false, err
	}
	if stamp := fmt.Sprint(info.Size(), info.ModTime().UnixNano()); k.byHash == nil || stamp != k.stamp {
		all, err := Tokens(k.dir)
		if err != nil {
			return Token{}, false, err
		}
		k.byHash, k.stamp = map[string]Token{}, stamp
		for _, token := range all {
			k.byHash[token.Hash] = token
		}
	}
	found, ok := k.byHash[hash]
	return found, ok, nil
}

// remember keeps a session until the server ends; withSession may drop it earlier.
func (k *keyring) remember(session Token, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.inMemory = withSession(k.inMemory, session, now)
}

// forget ends a session.
func (k *keyring) forget(session Token) error {
	isMeant := func(token Token) bool { return token.Hash == session.Hash }
	k.mu.Lock()
	before := len(k.inMemory)
	k.inMemory = slices.DeleteFunc(k.inMemory, isMeant)
	wasInMemory := len(k.inMemory) < before
	k.mu.Unlock()
	if wasInMemory {
		return nil
	}
	return k.change(func(all []Token) ([]Token, error) { return slices.DeleteFunc(slices.Clone(all), isMeant), nil })
}

// change edits the file, and has it read again.
func (k *keyring) change(edit func([]Token) ([]Token, error)) error {
	err := changeTokens(k.dir, edit)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.byHash = nil
	return err
}

const maxSessions = 1000

// withSession returns all tokens and one more session, without the sessions that are over now. If
// there are maxSessions, the credential with the most sessions loses the one that ends first: who
// signs in a thousand times signs nobody else out.
func withSession(all []Token, session Token, now time.Time) []Token {
	all = slices.DeleteFunc(slices.Clone(all),
		func(t Token) bool { return t.Session != nil && !now.Before(t.Session.Until) })
	if sessions := sessionsIn(all); sessions >= maxSessions {
		first := mostSessions(append(slices.Clip(all), session))
		all = slices.Delete(all, first, first+1)
	}
	return append(all, session)
}

// mostSessions returns the index of a session of the credential with the most sessions: of the
// session that ends first.
func mostSessions(all []Token) (first int) {
	counts := map[string]int{}
	for _, t := range all {
		if t.Session != nil {
			counts[t.Session.TokenHash]++
		}
	}
	first = -1
	for i, t := range all {
		if t.Session == nil {
			continue
		}
		more := 0
		if first >= 0 {
			more = counts[t.Session.TokenHash] - counts[all[first].Session.TokenHash]
		}
		if first < 0 || more > 0 || more == 0 && t.Session.Until.Before(all[first].Session.Until) {
			first = i
		}
	}
	return first
}
