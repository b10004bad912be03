package schedule

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// readHooks returns the setter of a key of hooks.
func readHooks(hooks func(*entry) *[]Hook) func(*loader, *entry, *yaml.Node) {
	return func(l *loader, e *entry, n *yaml.Node) {
		var all []Hook
		l.each(n, func(item *yaml.Node) bool {
			hook, ok := l.hook(item, e.shell)
			if !ok || hook.Notify == nil || !hook.Notify.Empty() {
				all = append(all, hook)
			}
			return ok
		})
		*hooks(e) = all
	}
}

// hook reads a text for the shell, {run: …}, or a notification. One that is empty is for nobody.
func (l *loader) hook(n *yaml.Node, shell []string) (Hook, bool) {
	switch n.Kind {
	case yaml.SequenceNode:
		l.bad(n, "a list to be run without a shell is written {run: […]}", "a hook of %s must be text or a mapping, not a list", l.key)
		return Hook{}, false
	case yaml.MappingNode:
		h := hookEntry{shell: shell, key: l.key}
		before := len(l.problems) + l.unshown
		hookKeys.decode(l, &h, n, 0)
		if len(l.problems)+l.unshown > before {
			return Hook{}, false
		}
		return l.oneHook(n, &h)
	}
	command, ok := l.command(n, shell)
	return Hook{Run: command}, ok
}

// A hookEntry is a hook in a mapping, while it is read.
type hookEntry struct {
	run    Command
	notify Notification
	kinds  []string // the keys that say what kind of hook this is: one

	key   string // on_failure and the like
	shell []string
}

var hookKeys = keys[hookEntry]{
	elsewhere: func(name string, _ scope) string {
		switch name {
		case "slack", "mattermost":
			return "write {webhook: URL, format: slack}; Mattermost takes what Slack does"
		case "url":
			return "write {ping: URL} or {webhook: URL}"
		case "from":
			return "who mails come from is said once, by `mail:` at the top of the file"
		}
		return ""
	},
	list: []key[hookEntry]{
		{"run", 0, func(l *loader, h *hookEntry, n *yaml.Node) {
			h.kinds = append(h.kinds, "run")
			h.run, _ = l.command(n, h.shell)
		}},
		{"ping", 0, func(l *loader, h *hookEntry, n *yaml.Node) {
			h.kinds = append(h.kinds, "ping")
			h.notify.Ping, _ = l.target(n, func(text string) Notification { return Notification{Ping: text} })
		}},
		{"webhook", 0, func(l *loader, h *hookEntry, n *yaml.Node) {
			h.kinds = append(h.kinds, "webhook")
			h.notify.Webhook, _ = l.target(n, func(text string) Notification { return Notification{Webhook: text} })
		}},
		{"mail", 0, func(l *loader, h *hookEntry, n *yaml.Node) {
			h.kinds = append(h.kinds, "mail")
			l.readAddresses(h, n)
		}},
		{"on", 0, readMoments},
		{"format", 0, func(l *loader, h *hookEntry, n *yaml.Node) {
			h.only(l, n, "webhook")
			h.notify.Format, _ = l.word(n, "slack")
		}},
		{"when", 0, readOccasion},
		{"at_most", 0, readLimit},
	},
}

// oneHook checks what the keys of a mapping say together.
func (l *loader) oneHook(n *yaml.Node, h *hookEntry) (Hook, bool) {
	switch {
	case len(n.Content) == 0:
		l.bad(n, "write {run: COMMAND}", "a hook of %s is empty", l.key)
	case len(h.kinds) == 0:
		l.bad(n, "say what it is: run, ping, webhook or mail", "a hook of %s does nothing", l.key)
	case len(h.kinds) > 1:
		l.bad(n, "make a list of them, each on its own", "a hook of %s is %s at once", l.key, strings.Join(h.kinds, " and "))
	case h.kinds[0] == "run":
		return Hook{Run: h.run}, true
	default:
		return Hook{Notify: &h.notify}, true
	}
	return Hook{}, false
}

// only refuses a key that goes with other kinds of hooks.
func (h *hookEntry) only(l *loader, n *yaml.Node, kinds ...string) {
	if len(h.kinds) == 1 && !slices.Contains(kinds, h.kinds[0]) {
		l.bad(n, "", "%s is for %s, not for %s", l.key, strings.Join(kinds, ", "), h.kinds[0])
	}
}

// target reads a URL or an address, and returns it as it stands. It is expanded to see whether that is possible, and whether
// it is a target then; one that is empty then is empty.
func (l *loader) target(n *yaml.Node, as func(string) Notification) (string, bool) {
	text, ok := l.filled(n)
	if !ok || l.opts.CheckNotification == nil {
		return text, ok
	}
	value, ok := l.expanded(n)
	if value = strings.TrimSpace(value); !ok || value == "" {
		return "", ok
	}
	if problem, hint := l.opts.CheckNotification(as(value)); problem != "" {
		l.bad(n, hint, "%s: %s", l.key, problem)
		return "", false
	}
	return text, true
}

func (l *loader) readAddresses(h *hookEntry, n *yaml.Node) {
	if !l.notEmpty(n, "") {
		return
	}
	h.notify.MailURL, h.notify.MailFrom = l.mail.url, l.mail.from
	l.each(n, func(item *yaml.Node) bool {
		text, ok := l.target(item, func(text string) Notification { return Notification{Mail: []string{text}} })
		if text != "" {
			h.notify.Mail = append(h.notify.Mail, text)
		}
		return ok
	})
}

func readMoments(l *loader, h *hookEntry, n *yaml.Node) {
	h.only(l, n, "ping")
	if h.key != "after" {
		l.bad(n, "move it to `after`: it is sent when the run starts, too", "a ping with on belongs in after, not in %s", h.key)
		return
	}
	if !l.notEmpty(n, "leave the key out for a ping when the run ends") {
		return
	}
	l.each(n, func(item *yaml.Node) bool {
		word, ok := l.word(item, string(OnStart), string(OnSuccess), string(OnFailure))
		h.notify.On = append(h.notify.On, Moment(word))
		return ok
	})
}

func readOccasion(l *loader, h *hookEntry, n *yaml.Node) {
	h.only(l, n, "ping", "webhook", "mail")
	word, ok := l.word(n, string(Changed), string(Printed))
	switch {
	case !ok:
	case h.key == "before" || h.key == "on_skip":
		l.bad(n, "", "when is about how a run ended, and in %s none has", h.key)
	case h.notify.On != nil:
		l.bad(n, "remove one of the two", "a ping with on tells of every run, so when: %s does not go with it", word)
	}
	h.notify.When = Occasion(word)
}

// longestLimit bounds the time of at_most, and mostInLimit the number, of which each has to be remembered.
const (
	longestLimit = LookBack
	mostInLimit  = 100
)

// readLimit reads `N per DURATION`.
func readLimit(l *loader, h *hookEntry, n *yaml.Node) {
	h.only(l, n, "ping", "webhook", "mail")
	text, ok := l.filled(n)
	if !ok {
		return
	}
	const hint = "write it as `at_most: 1 per 1h`"
	count, per, some := strings.Cut(text, " per ")
	number, err := strconv.Atoi(strings.TrimSpace(count))
	d, derr := ParseDuration(strings.TrimSpace(per))
	switch {
	case !some || err != nil || derr != nil:
		l.bad(n, hint, "at_most %s is not a number per duration", quote(text))
	case number < 1 || number > mostInLimit:
		l.bad(n, hint, "at_most %s: the number must be from 1 to %d", quote(text), mostInLimit)
	case d < time.Second || d > longestLimit:
		l.bad(n, hint, "at_most %s: the duration must be from 1s to 31d", quote(text))
	case h.notify.On != nil:
		l.bad(n, "remove one of the two", "a ping with on tells of every run, so at_most does not go with it")
	}
	h.notify.AtMost = Limit{number, d}
}

// word reads one of the words.
func (l *loader) word(n *yaml.Node, words ...string) (string, bool) {
	text, ok := l.text(n)
	if ok && !slices.Contains(words, text) {
		l.bad(n, didYouMean(nearest(text, words)), "%s must be %s, not %s", l.key, orOf(words), found(n))
		return "", false
	}
	return text, ok
}

// orOf lists words: a, b or c.
func orOf(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// mail is the setting of that name, as the file has it.
type mail struct{ url, from string }

var mailKeys = keys[mail]{
	elsewhere: func(name string, _ scope) string {
		if name == "to" {
			return "whom mails go to is said by each hook, as in `on_failure: {mail: ADDRESS}`"
		}
		return ""
	},
	list: []key[mail]{
		{"url", 0, func(l *loader, m *mail, n *yaml.Node) {
			m.url, _ = l.target(n, func(text string) Notification { return Notification{Mail: []string{somebody}, MailURL: text} })
			l.warnOfPassword(n, m.url)
		}},
		{"from", 0, func(l *loader, m *mail, n *yaml.Node) {
			m.from, _ = l.target(n, func(text string) Notification { return Notification{Mail: []string{somebody}, MailFrom: text} })
		}},
	},
}

// warnOfPassword warns of a password that stands in the file itself, in a URL as it stands there.
func (l *loader) warnOfPassword(n *yaml.Node, url string) {
	_, rest, _ := strings.Cut(url, "://")
	user, _, some := strings.Cut(rest, "@")
	if _, password, _ := strings.Cut(user, ":"); some && password != "" && !strings.Contains(password, "${") {
		l.warn(n, "write ${VAR} or ${file:PATH} in its place", "%s has the password in it, and with it each run in the history", l.key)
	}
}

// somebody has an address with which nothing is wrong.
const somebody = "somebody@example.com"

func readMail(l *loader, _ *settings, n *yaml.Node) {
	if !l.isMapping(n, l.key) {
		return
	}
	mailKeys.decode(l, &l.mail, n, 0)
	if len(n.Content) == 0 {
		l.bad(n, "write {url: smtp://HOST, from: ADDRESS}", "mail is empty")
	}
}
