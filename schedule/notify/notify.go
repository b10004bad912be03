package notify

import (
	"context"
	"net/mail"
	"net/url"
	"strings"
)

// A Target is whom to tell, and how: exactly one of its parts is set. It holds secrets.
type Target struct {
	Ping    *Ping    `json:"ping,omitempty"`
	Webhook *Webhook `json:"webhook,omitempty"`
	Mail    *Mail    `json:"mail,omitempty"`
}

// A Ping is a GET request, which says nothing but that something happened.
type Ping struct {
	URL string `json:"url"` // http or https
	// Protocol is that of healthchecks.io: the news decides about what is appended to the path, and goes
	// along as a POST with the tail of the output.
	Protocol bool `json:"protocol,omitempty"`
}

// A Webhook is a POST request with the news as JSON.
type Webhook struct {
	URL    string `json:"url"`
	Format Format `json:"format,omitempty"`
}

// A Format says what the JSON of a webhook looks like.
type Format string

const (
	Plain Format = ""      // every field of the news
	Slack Format = "slack" // a message, for the incoming webhooks of Slack and Mattermost
)

// A Mail goes to one or more addresses, as one message.
type Mail struct {
	To   []string `json:"to"`             // as RFC 5322 has them: ops@example.com, or Ops <ops@example.com>
	From string   `json:"from,omitempty"` // empty: the user of this process at the server of the news
	URL  string   `json:"url,omitempty"`  // smtp or smtps://[user:password@]host[:port][?tls=none or required]; empty: sendmail(8)
}

// An Error says why a target was not told, or cannot be. It is told in one line, has no secret in it, and
// wraps nothing that could have one.
type Error struct {
	Text      string // begins with Target.String
	Hint      string // what to do about it; may be empty
	Permanent bool   // it is no use to try again
	// Rest is for whom the next attempt is, where not all of a mail's addresses are worth one: some have got
	// the mail, or will never take it. Nil: for all.
	Rest *Target
}

func (e *Error) Error() string { return e.Text }

// Check reports what is wrong with the target itself, as an *Error, without telling anybody anything.
func (t Target) Check() error {
	switch {
	case t.Ping != nil:
		return t.checkHTTP(t.Ping.URL)
	case t.Webhook != nil:
		if t.Webhook.Format != Plain && t.Webhook.Format != Slack {
			return t.wrong("has a format that sched does not know", "the one format is slack")
		}
		return t.checkHTTP(t.Webhook.URL)
	case t.Mail != nil:
		return t.checkMail(*t.Mail)
	}
	return &Error{Text: "a notification without a target", Permanent: true}
}

// Send makes one attempt to tell t. Its error is an *Error. It returns when ctx is done at the latest, whatever the
// other side does; then nobody knows whether the news arrived, and it may arrive twice.
func (t Target) Send(ctx context.Context, m Message) error {
	if err := t.Check(); err != nil {
		return err
	}
	m = m.bounded()
	switch {
	case t.Ping != nil:
		return t.ping(ctx, m)
	case t.Webhook != nil:
		return t.post(ctx, m)
	}
	return t.mail(ctx, m)
}

// String names the target to people: its kind, and its host or addresses.
func (t Target) String() string {
	switch {
	case t.Ping != nil:
		return strings.TrimSpace("ping " + host(t.Ping.URL))
	case t.Webhook != nil:
		return strings.TrimSpace("webhook " + host(t.Webhook.URL))
	case t.Mail != nil && len(t.Mail.To) > 0:
		return "mail to " + strings.Join(addresses(t.Mail.To), ", ")
	case t.Mail != nil:
		return "mail"
	}
	return "nobody"
}

// host is the host of a URL, with its port where it names one; empty where it has none.
func host(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

// addresses leaves the names out, and does not show what is no address: it may be a secret that was put
// into the wrong place.
func addresses(list []string) (short []string) {
	for _, text := range list {
		if address, err := mail.ParseAddress(text); err == nil {
			short = append(short, address.Address)
		} else {
			short = append(short, "an address that is none")
		}
	}
	return short
}

// wrong is an error of the target itself: trying again would not help.
func (t Target) wrong(text, hint string) *Error {
	return &Error{Text: t.String() + ": " + text, Hint: hint, Permanent: true}
}

// failed is an error that may go away.
func (t Target) failed(text, hint string) *Error {
	return &Error{Text: t.String() + ": " + text, Hint: hint}
}
