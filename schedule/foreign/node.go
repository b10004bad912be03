package foreign

import (
	"errors"
	"slices"
	"strings"

	"sched/schedule/humanize"
	"sched/schedule/yamldoc"
)

// A node is a value of a YAML file that may be missing. Its keys are taken when they are read; rest
// names the others.
type node struct {
	*yamldoc.Node
	taken map[string]bool
}

func nodeOf(n *yamldoc.Node) node {
	if n == nil {
		n = yamldoc.NewMapping()
	}
	return node{n, map[string]bool{}}
}

// escapedSlash is a slash as PHP writes it in JSON, which YAML does not know.
var escapedSlash = humanize.Pattern(`\\([\\/])`)

// documents reads a YAML file, or JSON.
func documents(text string) (all []node, err error) {
	if start := strings.TrimSpace(text); strings.HasPrefix(start, "[") || strings.HasPrefix(start, "{") {
		text = escapedSlash().ReplaceAllStringFunc(text, func(found string) string {
			return strings.Replace(found, `\/`, "/", 1)
		})
	}
	parsed, err := yamldoc.Documents([]byte(text))
	switch {
	case err != nil && strings.Contains(text, "{{"):
		return nil, errors.New("it is a template: let its program fill it in first, such as `helm template`")
	case err != nil:
		return nil, err
	}
	for _, n := range parsed {
		all = append(all, nodeOf(n))
	}
	return all, nil
}

// at returns the value below keys. Each is taken from the mapping that has it.
func (n node) at(keys ...string) node {
	for _, key := range keys {
		if n.taken != nil {
			n.taken[key] = true
		}
		if !n.IsMapping() {
			return nodeOf(nil)
		}
		n = nodeOf(n.Lookup(key))
	}
	return n
}

// text returns the scalar of a key, or "".
func (n node) text(key string) string {
	if value := n.at(key); value.IsScalar() && !value.IsNull() {
		return value.Value
	}
	return ""
}

// items returns the values of a list.
func (n node) items() (all []node) {
	if n.IsList() {
		for _, item := range n.Items() {
			all = append(all, nodeOf(item))
		}
	}
	return all
}

// texts returns a list of scalars, or one scalar as a list.
func (n node) texts() (all []string) {
	if n.IsScalar() && !n.IsNull() {
		return []string{n.Value}
	}
	for _, item := range n.items() {
		all = append(all, item.Value)
	}
	return all
}

// pairs returns the scalars of a mapping, in their order.
func (n node) pairs() (keys []string, values map[string]string) {
	values = map[string]string{}
	if n.IsMapping() {
		for key, value := range n.Pairs() {
			keys = append(keys, key.Value)
			values[key.Value] = value.Value
		}
	}
	return keys, values
}

// rest returns the keys of the mapping that nothing has taken, but those that need no words.
func (n node) rest(silent ...string) (keys []string) {
	if !n.IsMapping() {
		return nil
	}
	for key := range n.Pairs() {
		if !n.taken[key.Value] && !slices.Contains(silent, key.Value) {
			keys = append(keys, key.Value)
		}
	}
	return keys
}

// quoteWords writes words for a shell.
func quoteWords(words ...string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = word
		if word == "" || strings.ContainsFunc(word, isSpecial) {
			quoted[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

func isSpecial(r rune) bool {
	return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:@+,=-", r)
}
