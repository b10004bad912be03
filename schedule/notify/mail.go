package notify

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	netmail "net/mail"
	"os/exec"
	"os/user"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/wneessen/go-mail"

	"sched/schedule/account"
	"sched/schedule/humanize"
)

func checkMail(t Target) error {
	for i, address := range t.Mail {
		if !isAddress(address) {
			hint := "write ops@example.com, or Ops <ops@example.com>"
			if strings.Count(address, "@") > 1 && !strings.ContainsAny(address, "\r\n") {
				hint = "several addresses are a list: [ops@example.com, dev@example.com]"
			}
			return t.permanent(fmt.Sprintf("address %d is not a mail address", i+1), hint)
		}
	}
	if t.MailFrom != "" && !isAddress(t.MailFrom) {
		return t.permanent("the sender is not a mail address", "write sched@example.com, or Sched <sched@example.com>")
	}
	if t.MailURL == "" {
		return nil
	}
	if _, problem := parseMailURL(t.MailURL); problem != "" {
		return t.permanent(problem,
			"write smtp://host, smtp://user:password@host:587 or smtps://user:password@host; "+
				"in a password %40 is @ and %2F is /")
	}
	return nil
}

func sendMail(ctx context.Context, t Target, m Message) error {
	e, err := writeMail(t, m)
	if err != nil {
		return t.permanent("cannot be written", "") // Check has seen the addresses
	}
	if t.MailURL == "" {
		return handToSendmail(ctx, t, e)
	}
	server, _ := parseMailURL(t.MailURL) // Check has seen it
	return sendSMTP(ctx, t, server, e)
}

// writeMail writes the message as a mail. It writes the same mail at every attempt, with the same
// Message-ID, so an inbox that gets it twice can show it once.
func writeMail(t Target, m Message) (e email, err error) {
	from := cmp.Or(t.MailFrom, defaultFrom(m.Server))
	msg := mail.NewMsg(mail.WithNoDefaultUserAgent())
	if err := msg.From(from); err != nil {
		return e, err
	}
	if err := msg.To(t.Mail...); err != nil {
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
	msg.SetBodyString(mail.TypeTextPlain, mailBody(m))
	var raw bytes.Buffer
	if _, err := msg.WriteTo(&raw); err != nil {
		return e, err
	}
	return email{from: msg.GetFrom()[0], to: msg.GetTo(), host: hostname(m.Server), text: raw.Bytes()}, nil
}

func mailBody(m Message) string {
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

// sendmailPaths are the paths that are tried for the program, in this order: cron's PATH has no
// sbin.
var sendmailPaths = []string{"sendmail", "/usr/sbin/sendmail", "/usr/lib/sendmail"}

// permanentExitCodes are the exit codes of sendmail that another attempt would meet again:
// EX_USAGE, EX_DATAERR, EX_NOUSER and EX_NOHOST of sysexits(3).
var permanentExitCodes = []int{64, 65, 67, 68}

// handToSendmail hands the mail to the mail system of this machine. Nil means that the mail system
// has queued it. The mail system sends a bounce if the mail does not arrive.
func handToSendmail(ctx context.Context, t Target, e email) error {
	path := FindSendmail()
	if path == "" {
		return t.temporary("this machine has no sendmail", "name a mail server: mail: {url: smtp://host}")
	}
	attempt := newExplainer(ctx, nil)
	var stderr firstBytes
	// -i: a line with a dot alone does not end the mail; -t: the mail has the addresses.
	command := exec.CommandContext(ctx, path, "-i", "-t")
	command.Env = account.MachineVariables(command.Environ(), // without the secrets of sched
		"HOME", "USER", "LOGNAME", "SHELL", "XDG_CONFIG_HOME")
	command.Stdin = bytes.NewReader(bytes.ReplaceAll(e.text, []byte("\r\n"), []byte("\n")))
	command.Stderr = &stderr
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	command.WaitDelay = time.Second // for processes that sendmail left behind with our pipes
	err := command.Run()
	var exit *exec.ExitError
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay) && ctx.Err() == nil: // exit code 0, and a process left behind
		return nil
	case ctx.Err() != nil:
		text, _ := attempt.explain(err)
		return t.temporary(path+": "+text, "")
	case errors.As(err, &exit):
		how := exit.String() // `signal: killed`
		if exit.Exited() {
			how = fmt.Sprintf("exit code %d", exit.ExitCode())
		}
		failure := t.temporary(path+": "+how+stderr.quote(), "")
		failure.Permanent = slices.Contains(permanentExitCodes, exit.ExitCode())
		return failure
	}
	return t.temporary(line(err.Error()), "") // it could not be started
}

// FindSendmail returns the path of the program; "" if this machine has none.
func FindSendmail() string {
	for _, name := range sendmailPaths {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// firstBytes keeps the first 1,000 bytes that are written to it, and accepts any number.
type firstBytes struct{ bytes.Buffer }

func (f *firstBytes) Write(p []byte) (int, error) {
	f.Buffer.Write(p[:min(len(p), max(0, 1000-f.Len()))])
	return len(p), nil
}

// quote returns what was written as one short line behind a colon; empty if nothing was written.
func (f *firstBytes) quote() string {
	if text := head(line(f.String()), 200); text != "" {
		return ": " + text
	}
	return ""
}
