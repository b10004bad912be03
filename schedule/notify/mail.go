package notify

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	netmail "net/mail"
	"os/user"
	"strings"

	"github.com/wneessen/go-mail"

	"sched/schedule/humanize"
)

func (t Target) checkMail(m Mail) error {
	if len(m.To) == 0 {
		return t.permanent("it has no address", "")
	}
	for i, address := range m.To {
		if !isAddress(address) {
			return t.permanent(fmt.Sprintf("address %d is not a mail address", i+1), "write ops@example.com, or Ops <ops@example.com>")
		}
	}
	if m.From != "" && !isAddress(m.From) {
		return t.permanent("the sender is not a mail address", "write sched@example.com, or Sched <sched@example.com>")
	}
	if m.URL == "" {
		return nil
	}
	if _, problem := parseMailURL(m.URL); problem != "" {
		return t.permanent(problem, "write smtp://host, smtp://user:password@host:587 or smtps://user:password@host; in a password %40 is @ and %2F is /")
	}
	return nil
}

func (t Target) sendMail(ctx context.Context, m Message) error {
	e, err := t.writeMail(m)
	if err != nil {
		return t.permanent("cannot be written", "") // Check has seen the addresses
	}
	if t.Mail.URL == "" {
		return t.sendmail(ctx, e)
	}
	server, _ := parseMailURL(t.Mail.URL) // Check has seen it
	return t.sendSMTP(ctx, server, e)
}

type email struct {
	from *netmail.Address
	to   []*netmail.Address
	host string // the name in the greeting of SMTP
	text []byte // header and body; lines end in \r\n
}

// writeMail writes the message as a mail. It writes the same mail at every attempt, with the same
// Message-ID, so an inbox that gets it twice can show it once.
func (t Target) writeMail(m Message) (e email, err error) {
	from := t.Mail.From
	if from == "" {
		from = defaultFrom(m.Server)
	}
	msg := mail.NewMsg(mail.WithNoDefaultUserAgent())
	if err := msg.From(from); err != nil {
		return e, err
	}
	if err := msg.To(t.Mail.To...); err != nil {
		return e, err
	}
	msg.Subject(m.subject())
	if !m.At.IsZero() {
		msg.SetDateWithValue(m.At) // when it happened: the mail may have waited
	}
	domain := msg.GetFrom()[0].Address
	domain = domain[strings.LastIndexByte(domain, '@')+1:]
	if m.ID != "" {
		msg.SetMessageIDWithValue(hashID(m.Schedule, m.ID) + "@" + domain)
	}
	// Mail programs show mails that refer to the same Message-ID as one conversation: here, all
	// mails about a task.
	msg.SetGenHeader(mail.HeaderReferences, "<"+hashID(m.Schedule, m.Task)+"@"+domain+">")
	msg.SetGenHeader("Auto-Submitted", "auto-generated") // RFC 3834: no "out of office" comes back
	msg.SetGenHeader(mail.HeaderXAutoResponseSuppress, "All")
	msg.SetBodyString(mail.TypeTextPlain, m.mailBody())
	var raw bytes.Buffer
	if _, err := msg.WriteTo(&raw); err != nil {
		return e, err
	}
	return email{msg.GetFrom()[0], msg.GetTo(), hostname(m.Server), raw.Bytes()}, nil
}

func (m Message) mailBody() string {
	var b strings.Builder
	fmt.Fprintln(&b, line(m.headline()))
	if description := line(m.Description); description != "" {
		fmt.Fprintln(&b, description)
	}
	fmt.Fprintln(&b)
	for _, fact := range m.facts() {
		fmt.Fprintf(&b, "%-9s %s\n", fact.name, fact.value)
	}
	if heldBack := m.heldBackText(); heldBack != "" {
		fmt.Fprintf(&b, "\n%s\n", heldBack)
	}
	output := strings.Trim(humanize.Plain(m.Output), "\n")
	switch {
	case output == "" && m.Run != "" && m.Event != Start && m.Event != Skip && m.Event != Overdue:
		fmt.Fprint(&b, "\nIt printed nothing.\n")
	case output != "" && m.Cut:
		fmt.Fprintf(&b, "\nThe end of its output:\n\n%s\n", output)
	case output != "":
		fmt.Fprintf(&b, "\nIts output:\n\n%s\n", output)
	}
	return b.String()
}

// hashID makes the left side of a Message-ID from any names. The same names give the same id.
func hashID(names ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(names, "\x00")))
	return fmt.Sprintf("sched.%x", sum[:12])
}

// defaultFrom is the user of this process at the server, as in the mails of cron.
func defaultFrom(server string) string {
	name := "sched"
	if u, err := user.Current(); err == nil && u.Username != "" {
		name = u.Username
	}
	if from := name + "@" + hostname(server); isAddress(from) {
		return from
	}
	return "sched@" + hostname(server)
}

// hostname is the name of the server, if it can stand behind the @ of an address; else localhost.
func hostname(server string) string {
	if server == "" || !isAddress("sched@"+server) {
		return "localhost"
	}
	return server
}

func isAddress(text string) bool {
	_, err := netmail.ParseAddress(text)
	return err == nil
}
