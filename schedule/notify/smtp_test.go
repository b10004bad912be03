package notify_test

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"sched/schedule/notify"
	"sched/testing/machine"
)

func mailTo(url string, to ...string) notify.Target {
	return notify.Target{MailURL: url, MailFrom: "sched@example.com", Mail: to}
}

// Each row is a server and a URL, and whether the mail arrives encrypted. If the server has a
// mechanism, the password must arrive, too.
func TestMailArrives(t *testing.T) {
	for _, row := range []struct {
		what      string
		server    *mailServer
		url       string
		encrypted bool
	}{
		{"in the open", &mailServer{}, "smtp://HOST", false},
		{"by STARTTLS, since it is offered, whatever the certificate",
			&mailServer{certificate: &strange}, "smtp://HOST", true},
		{"in the open, since the URL says so", &mailServer{certificate: &strange}, "smtp://HOST?tls=none", false},
		{"by STARTTLS, since the URL asks for it", &mailServer{certificate: &trusted},
			"smtp://HOST?tls=required", true},
		{"by STARTTLS with a name", &mailServer{certificate: &trusted}, "smtp://localhost:PORT?tls=required", true},
		{"by smtps", &mailServer{certificate: &trusted, wrapped: true}, "smtps://HOST", true},
		{"with PLAIN", &mailServer{certificate: &trusted, mechanism: "PLAIN"},
			"smtp://B0B:hunter2@HOST?tls=required", true},
		{"with PLAIN by smtps", &mailServer{certificate: &trusted, wrapped: true, mechanism: "PLAIN"},
			"smtps://B0B:hunter2@HOST/", true},
		{"with LOGIN", &mailServer{certificate: &trusted, mechanism: "LOGIN"},
			"smtp://B0B:hunter2@HOST?tls=required", true},
		{"with CRAM-MD5", &mailServer{certificate: &trusted, mechanism: "CRAM-MD5"},
			"smtp://B0B:hunter2@HOST?tls=required", true},
		{"with a password in the open, on this machine", &mailServer{mechanism: "PLAIN"},
			"smtp://B0B:hunter2@HOST", false},
		{"with a password in the open, since the URL says so",
			&mailServer{mechanism: "LOGIN"}, "smtp://B0B:hunter2@HOST?tls=none", false},
	} {
		t.Run(row.what, func(t *testing.T) {
			place := row.server.start(t)
			_, port, _ := net.SplitHostPort(place)
			url := strings.NewReplacer("HOST", place, "PORT", port).Replace(row.url)
			if e := send(t, mailTo(url, "ops@example.com", "Dev <dev@example.com>"), failure()); e != nil {
				t.Fatalf("%s (%s)", e, e.Hint)
			}
			got := row.server.deliveries()
			if len(got) != 1 || got[0].from != "sched@example.com" || got[0].to != "ops@example.com, dev@example.com" {
				t.Fatalf("delivered: %+v", got)
			}
			if got[0].encrypted != row.encrypted || got[0].user != (row.server.mechanism != "") {
				t.Errorf("encrypted %t, with a user %t", got[0].encrypted, got[0].user)
			}
		})
	}
}

// Each row is a server, and the error that people read then. HOST stands for its host and port.
func TestErrorsOfMailServers(t *testing.T) {
	untrusted := "HOST: its certificate cannot be trusted: certificate signed by unknown authority"
	ca := "name the file of its CA in SSL_CERT_FILE, or add it to the CAs of the machine"
	encode := "in a password %40 is @ and %2F is /; some providers want a password made for programs"
	for _, row := range []struct {
		what       string
		server     *mailServer
		url        string
		text, hint string
		permanent  bool
	}{
		{"a wrong password", &mailServer{certificate: &trusted, mechanism: "PLAIN"},
			"smtp://B0B:s3cret@HOST?tls=required",
			"HOST refuses the user or the password: 535 5.7.8 no user *** with password ***", encode, true},
		{"a wrong password with LOGIN", &mailServer{certificate: &trusted, wrapped: true, mechanism: "LOGIN"},
			"smtps://B0B:s3cret@HOST",
			"HOST refuses the user or the password: 535 5.7.8 no user *** with password ***", encode, true},
		{"an unknown mechanism", &mailServer{mechanism: "X-OTHER"}, "smtp://B0B:s3cret@HOST",
			"HOST knows no way to give it a password that sched knows: X-UNKNOWN X-OTHER", "", true},
		{"a password that is not asked for", &mailServer{certificate: &trusted, wrapped: true},
			"smtps://B0B:s3cret@HOST",
			"HOST takes no user and password",
			"leave them out of the URL; or it takes them on another port, often 587 or 465", true},
		{"a password that is missing", &mailServer{mechanism: "PLAIN"}, "smtp://HOST",
			"HOST does not take mail from sched@example.com: 502 5.7.0 Please authenticate first", "", true},
		{"a password, but no TLS", &mailServer{mechanism: "PLAIN"}, "smtp://B0B:hunter2@HOST?tls=required",
			"HOST offers no TLS, and the password would be sent in the open",
			"write smtps:// if it speaks TLS on another port, or add ?tls=none if the network may be trusted", true},
		{"no TLS", &mailServer{}, "smtp://HOST?tls=required",
			"HOST offers no TLS", "write smtps:// if it speaks TLS on another port, or leave ?tls=required out", true},
		{"a certificate of an unknown CA", &mailServer{certificate: &strange},
			"smtp://HOST?tls=required", untrusted, ca, false},
		{"a certificate of an unknown CA by smtps", &mailServer{certificate: &strange, wrapped: true},
			"smtps://HOST", untrusted, ca, false},
		{"smtps to a port without", &mailServer{}, "smtps://HOST",
			"HOST: it does not speak TLS on this port",
			"write smtp:// instead of smtps://, or its other port, often 465", false},
		{"a sender it does not like", &mailServer{sender: smtpError(550, "not from there")}, "smtp://HOST",
			"HOST does not take mail from sched@example.com: 550 not from there", "", true},
		{"a recipient that is none", &mailServer{recipients: map[string]error{"ops@example.com": smtpError(550,
			"no such user")}}, "smtp://HOST",
			"HOST does not take mail for ops@example.com: 550 no such user", "", true},
		{"greylisting", &mailServer{recipients: map[string]error{"ops@example.com": smtpError(451,
			"try again\nin a minute")}}, "smtp://HOST",
			"HOST does not take mail for ops@example.com: 451 try again in a minute", "", false},
		{"a mail that is too large", &mailServer{data: smtpError(552, "too large")}, "smtp://HOST",
			"HOST does not take the mail: 552 too large", "", true},
		{"a full disk", &mailServer{data: smtpError(452, "no room")}, "smtp://HOST",
			"HOST does not take the mail: 452 no room", "", false},
	} {
		t.Run(row.what, func(t *testing.T) {
			place := row.server.start(t)
			target := mailTo(strings.ReplaceAll(row.url, "HOST", place), "ops@example.com")
			e := send(t, target, failure())
			if e != nil {
				e.Text, _, _ = strings.Cut(e.Text, " (possibly") // Go guesses why
			}
			expect(t, e, target, strings.ReplaceAll(row.text, "HOST", place), row.hint, row.permanent)
			if e != nil && e.Rest != nil {
				t.Errorf("for one address there is no rest: %v", e.Rest)
			}
			if n := len(row.server.deliveries()); n != 0 {
				t.Errorf("%d mails arrived", n)
			}
		})
	}
}

func TestErrorsOfWhatIsNoMailServer(t *testing.T) {
	for _, row := range []struct {
		what       string
		talk       func(string) string
		text, hint string
		permanent  bool
	}{
		{"closes at once", politeBut("", ""), "HOST: it closed the connection before it answered", "", false},
		{"closes after the mail", politeBut(".", ""), "HOST: it closed the connection before it answered", "", false},
		{"speaks something else", politeBut("", "* OK IMAP4 ready"), "HOST: what it answers is not SMTP",
			"see the port of the URL", false},
		{"never ends a line", politeBut("", strings.Repeat("2", 1<<20)), "HOST: it answers without an end",
			"see the port of the URL", false},
		{"wants nothing of us", politeBut("", "554 5.7.1 go away"),
			"HOST refuses to talk: 554 5.7.1 go away", "", true},
		{"is full", politeBut("", "421 too many connections"),
			"HOST refuses to talk: 421 too many connections", "", false},
		{"talks with control characters", politeBut("MAIL", "550 \x1b[31mno\x07 \xff"),
			"HOST does not take mail from sched@example.com: 550 no \uFFFD", "", true},
		{"breaks off STARTTLS", func(command string) string {
			return map[string]string{"": "220 ok", "EHLO": "250-mail.test\r\n250 STARTTLS",
				"STARTTLS": "454 not now"}[command]
		}, "HOST refuses to talk: 454 not now", "", false},
	} {
		t.Run(row.what, func(t *testing.T) {
			place := oddServer(t, row.talk)
			target := mailTo("smtp://"+place, "ops@example.com")
			expect(t, send(t, target, failure()), target, strings.ReplaceAll(row.text, "HOST", place),
				row.hint, row.permanent)
		})
	}
	t.Run("no server there", func(t *testing.T) {
		place := closedPort(t)
		target := mailTo("smtp://"+place, "ops@example.com")
		expect(t, send(t, target, failure()), target, place+": connection refused",
			"is it running, and is that its port?", false)
	})
}

func TestTheContextEndsEveryMail(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"", "EHLO", "MAIL", "RCPT", "DATA", "."} {
		t.Run(fmt.Sprintf("a server that hangs at %q", command), func(t *testing.T) {
			t.Parallel()
			endsWithTheContext(t, mailTo("smtp://"+oddServer(t, politeBut(command, "hang")), "ops@example.com"))
		})
	}
	t.Run("a server that hangs in STARTTLS", func(t *testing.T) {
		t.Parallel()
		endsWithTheContext(t, mailTo("smtp://"+oddServer(t, func(command string) string {
			switch command {
			case "", "EHLO":
				return map[string]string{"": "220 ok", "EHLO": "250-mail.test\r\n250 STARTTLS"}[command]
			case "STARTTLS":
				return "220 go on"
			}
			return "hang" // the next lines are no commands
		}), "ops@example.com"))
	})
	for what, place := range silentServers(t) {
		t.Run("smtps to a server that "+what, func(t *testing.T) {
			t.Parallel()
			endsWithTheContext(t, mailTo("smtps://B0B:hunter2@"+place, "ops@example.com"))
		})
	}
}

// The mail is accepted when the server says so, whatever it replies to QUIT.
func TestTheReplyToQuitDoesNotMatter(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{"hang", "", "500 what?"} {
		began := time.Now()
		if e := send(t, mailTo("smtp://"+oddServer(t, politeBut("QUIT", answer)), "ops@example.com"),
			failure()); e != nil {
			t.Errorf("QUIT answered with %q: %v", answer, e)
		}
		if took := time.Since(began); took > machine.Within(8*time.Second) {
			t.Errorf("QUIT answered with %q: took %s", answer, took)
		}
	}
}

// If one address is refused, the others still get their mail. If the server asks to come again for
// one address, the others get no mail with each attempt.
func TestEachAddressIsAcceptedOrRefusedByItself(t *testing.T) {
	server := &mailServer{recipients: map[string]error{
		"gone@example.com":  smtpError(550, "no such user"),
		"later@example.com": smtpError(450, "mailbox busy"),
	}}
	place := server.start(t)
	url := "smtp://" + place
	for _, row := range []struct {
		to        []string
		delivered string
		text      string
		permanent bool
		rest      string
	}{
		{[]string{"a@example.com", "b@example.com"}, "a@example.com, b@example.com", "", false, ""},
		{[]string{"a@example.com", "gone@example.com", "b@example.com"}, "a@example.com, b@example.com",
			" does not take mail for gone@example.com: 550 no such user; the others have it", true, ""},
		{[]string{"a@example.com", "Late <later@example.com>"}, "a@example.com",
			" does not take mail for later@example.com: 450 mailbox busy; the others have it",
			false, "mail to later@example.com"},
		{[]string{"gone@example.com", "later@example.com"}, "",
			" does not take mail for gone@example.com, later@example.com: 450 mailbox busy",
			false, "mail to later@example.com"},
		{[]string{"later@example.com"}, "", " does not take mail for later@example.com: 450 mailbox busy", false, ""},
	} {
		target := mailTo(url, row.to...)
		before := len(server.deliveries())
		e := send(t, target, failure())
		delivered := ""
		if got := server.deliveries()[before:]; len(got) > 0 {
			delivered = got[0].to
		}
		if delivered != row.delivered {
			t.Errorf("%v: delivered to %q", row.to, delivered)
		}
		if row.text == "" {
			if e != nil {
				t.Errorf("%v: %v", row.to, e)
			}
			continue
		}
		if e == nil || e.Text != target.String()+": "+place+row.text || e.Permanent != row.permanent {
			t.Errorf("%v: %v", row.to, e)
			continue
		}
		if (e.Rest != nil) != (row.rest != "") || e.Rest != nil && (notify.Target{Mail: e.Rest}).String() != row.rest {
			t.Errorf("%v: the rest is %v", row.to, e.Rest)
		}
	}
}

func TestMailsThatCannotBeSent(t *testing.T) {
	write := "write smtp://host, smtp://user:password@host:587 or smtps://user:password@host; in a password %40 is @ and %2F is /"
	to := []string{"ops@example.com"}
	for _, row := range []struct {
		what       string
		target     notify.Target
		text, hint string
	}{
		{"an address that is none", notify.Target{Mail: []string{"ops@example.com", "s3cret"}},
			"mail to ops@example.com, an invalid address: address 2 is not a mail address",
			"write ops@example.com, or Ops <ops@example.com>"},
		{"two addresses in one text", notify.Target{Mail: []string{"Ops <ops@example.com>, dev@example.com"}},
			"mail to an invalid address: address 1 is not a mail address",
			"several addresses are a list: [ops@example.com, dev@example.com]"},
		{"an address with a line of its own",
			notify.Target{Mail: []string{"ops@example.com>\r\nBcc: <s3cret@example.com"}},
			"mail to an invalid address: address 1 is not a mail address",
			"write ops@example.com, or Ops <ops@example.com>"},
		{"a sender that is none", notify.Target{Mail: to, MailFrom: "s3cret"},
			"mail to ops@example.com: the sender is not a mail address",
			"write sched@example.com, or Sched <sched@example.com>"},
		{"a URL that is none", notify.Target{Mail: to, MailURL: "s3cret"}, "mail to ops@example.com: the URL of the mail server does not begin with smtp:// or smtps:// and a host", write},
		{"a slash in the password", notify.Target{Mail: to, MailURL: "smtp://B0B:hunter2/x@host"}, "mail to ops@example.com: the URL of the mail server does not begin with smtp:// or smtps:// and a host", write},
		{"another scheme", notify.Target{Mail: to, MailURL: "https://B0B:hunter2@host"},
			"mail to ops@example.com: the URL of the mail server does not begin with smtp:// or smtps://", write},
		{"a user without a password", notify.Target{Mail: to, MailURL: "smtp://B0B@host"},
			"mail to ops@example.com: the URL of the mail server has half of a user and password", write},
		{"a path", notify.Target{Mail: to, MailURL: "smtp://host/T0KEN"},
			"mail to ops@example.com: the URL of the mail server has a path, which means nothing", write},
		{"an unknown policy of TLS", notify.Target{Mail: to, MailURL: "smtp://host?tls=T0KEN"},
			"mail to ops@example.com: the URL of the mail server may have ?tls=required or, with smtp://, ?tls=none, and nothing else", write},
		{"smtps without TLS", notify.Target{Mail: to, MailURL: "smtps://host?tls=none"},
			"mail to ops@example.com: the URL of the mail server may have ?tls=required or, with smtp://, ?tls=none, and nothing else", write},
	} {
		t.Run(row.what, func(t *testing.T) {
			e := send(t, row.target, failure())
			if e == nil || e.Text != row.text || e.Hint != row.hint || !e.Permanent {
				t.Errorf("%v", e)
			}
			if notify.Check(row.target) == nil {
				t.Error("Check sees nothing wrong")
			}
		})
	}
}
