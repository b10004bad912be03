package notify_test

import (
	"bytes"
	"context"
	"io"
	"mime"
	"mime/quotedprintable"
	"net/mail"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sched/schedule/notify"
	"sched/schedule/outcome"
)

// received is a mail as its reader sees it.
type received struct {
	mail.Header
	subject, body string
}

func read(t *testing.T, text string) received {
	t.Helper()
	m, err := mail.ReadMessage(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	subject, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Header.Get("Content-Transfer-Encoding"); got != "quoted-printable" {
		t.Fatalf("encoded as %q", got)
	}
	body, err := io.ReadAll(quotedprintable.NewReader(m.Body))
	if err != nil {
		t.Fatal(err)
	}
	return received{m.Header, subject, strings.ReplaceAll(string(body), "\r\n", "\n")}
}

// mailed is the mail that an SMTP server gets.
func mailed(t *testing.T, target notify.Target, msg notify.Message) received {
	t.Helper()
	server := &mailServer{}
	target.MailURL = "smtp://" + server.start(t)
	if e := send(t, target, msg); e != nil {
		t.Fatal(e)
	}
	return read(t, server.deliveries()[0].text)
}

func TestAMailIsWhatTheReferenceShows(t *testing.T) {
	got := mailed(t, notify.Target{MailFrom: "sched@example.com", Mail: []string{"ops@example.com"}}, failure())
	if want := documented(t, "### Mail", "text"); "Subject: "+got.subject+"\n\n"+got.body != want {
		t.Errorf("got\nSubject: %s\n\n%s\nthe reference has\n%s", got.subject, got.body, want)
	}
}

func TestTheHeaderOfAMail(t *testing.T) {
	m := notify.Target{MailFrom: "Größe <sched@example.com>",
		Mail: []string{"ops@example.com", "Dev, Ops <dev@example.com>"}}
	m.Mail[1] = `"Dev, Ops" <dev@example.com>`
	first := mailed(t, m, failure())
	for name, want := range map[string]string{
		"From":                     `=?utf-8?q?Gr=C3=B6=C3=9Fe?= <sched@example.com>`,
		"To":                       `<ops@example.com>, "Dev, Ops" <dev@example.com>`,
		"Date":                     "Sat, 21 Nov 2026 02:30:12 -0500",
		"Auto-Submitted":           "auto-generated",
		"X-Auto-Response-Suppress": "All",
		"Mime-Version":             "1.0",
		"Content-Type":             "text/plain; charset=UTF-8",
		"User-Agent":               "",
	} {
		if got := first.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	msg := failure()
	again := mailed(t, m, msg)
	msg.ID = "another"
	other := mailed(t, m, msg)
	msg.Task = "prune-sessions"
	task := mailed(t, m, msg)
	id := first.Get("Message-Id")
	if address, err := mail.ParseAddress(id); err != nil || !strings.HasSuffix(address.Address, "@example.com") {
		t.Errorf("Message-ID %q: %v", id, err)
	}
	if id != again.Get("Message-Id") || id == other.Get("Message-Id") {
		t.Errorf("the ids are %q, again %q, and of another message %q",
			id, again.Get("Message-Id"), other.Get("Message-Id"))
	}
	thread := first.Get("References")
	if thread == "" || thread != other.Get("References") || thread == task.Get("References") || thread == id {
		t.Errorf("the threads are %q, %q, and of another task %q",
			thread, other.Get("References"), task.Get("References"))
	}
}

func TestAMailWithoutASender(t *testing.T) {
	for server, ends := range map[string]string{"web-1": "@web-1", "": "@localhost", "no host\r\nX: y": "@localhost"} {
		msg := failure()
		msg.Server = server
		from, err := mail.ParseAddress(mailed(t, notify.Target{Mail: []string{"ops@example.com"}}, msg).Get("From"))
		if err != nil || !strings.HasSuffix(from.Address, ends) {
			t.Errorf("server %q: from %v (%v)", server, from, err)
		}
	}
}

func TestSubjectsReadWell(t *testing.T) {
	zero := 7
	for _, row := range []struct {
		message notify.Message
		want    string
	}{
		{notify.Message{Event: notify.Failure, Outcome: "failed", Reason: "exit code 7"},
			"[shop] report failed: exit code 7"},
		{notify.Message{Event: notify.Failure, Outcome: "failed", ExitCode: &zero},
			"[shop] report failed: exit code 7"},
		{notify.Message{Event: notify.Failure, Outcome: "timed out", Reason: "after 20m"},
			"[shop] report timed out after 20m"},
		{notify.Message{Event: notify.Failure, Outcome: "stopped", Reason: "by SIGTERM"},
			"[shop] report stopped by SIGTERM"},
		{notify.Message{Event: notify.Failure, Outcome: "stopped", Kind: outcome.ByHand, Reason: "sched stop by root"},
			"[shop] report stopped: sched stop by root"},
		{notify.Message{Event: notify.Failure, Outcome: "stopped", Kind: outcome.NotBegun, Reason: "before attempt 2"},
			"[shop] report stopped: before attempt 2"},
		{notify.Message{Event: notify.Failure, Outcome: "lost", Reason: "its processes vanished"},
			"[shop] report lost: its processes vanished"},
		{notify.Message{Event: notify.Success, Outcome: "succeeded"}, "[shop] report succeeded"},
		{notify.Message{Event: notify.Recovery, Outcome: "succeeded"}, "[shop] report recovered"},
		{notify.Message{Event: notify.Start}, "[shop] report started"},
		{notify.Message{Event: notify.Skip, Outcome: "skipped", Reason: "still running since 09:55"},
			"[shop] report skipped: still running since 09:55"},
		{notify.Message{Event: notify.Finish, Outcome: "succeeded"}, "[shop] report succeeded"},
		{notify.Message{Event: notify.Failure, Outcome: "failed", Reason: "größer\r\nBcc: x@example.com\x00"},
			"[shop] report failed: größer Bcc: x@example.com"},
		{notify.Message{Event: notify.Failure, Outcome: "failed", Reason: strings.Repeat("ü", 500)},
			"[shop] report failed: " + strings.Repeat("ü", 177) + "…"},
	} {
		row.message.Schedule, row.message.Task = "shop", "report"
		got := mailed(t, notify.Target{Mail: []string{"ops@example.com"}}, row.message)
		if got.subject != row.want || got.Get("Bcc") != "" {
			t.Errorf("got  %q\nwant %q", got.subject, row.want)
		}
	}
}

// The output of a command is text in the mail, whatever the output is.
func TestAMailTakesAnyOutput(t *testing.T) {
	for _, row := range []struct{ what, output, want string }{
		{"the end of the mail", ".\n.\r\nQUIT\r\nMAIL FROM:<x@example.com>\n", ".\n.\nQUIT\nMAIL FROM:<x@example.com>"},
		{"a header", "\n\nBcc: x@example.com\n\n", "Bcc: x@example.com"},
		{"no UTF-8", "caf\xe9\n", "caf\uFFFD"},
		{"other scripts", "Отчёт готов 完了 ✓\n", "Отчёт готов 完了 ✓"},
		{"colours and a title", "\x1b]0;title\x07\x1b[1;31mred\x1b[0m\x1b[K done\x1b(B\n", "red done"},
		{"a bar of progress", " 10%\r 50%\r100%\r\ndone", " 10%\n 50%\n100%\ndone"},
		{"control characters", "a\x00b\x07c\x08d\x7fe\u0085f\tg", "abcdef\tg"},
		{"a very long line", strings.Repeat("x", 60_000), strings.Repeat("x", 60_000)},
		{"spaces at the end of a line", "a  \nb\t\n", "a  \nb\t"},
	} {
		t.Run(row.what, func(t *testing.T) {
			msg := failure()
			msg.Output = row.output
			got := mailed(t, notify.Target{Mail: []string{"ops@example.com"}}, msg)
			if _, output, _ := strings.Cut(got.body, "\nIts output:\n\n"); output != row.want+"\n" ||
				len(got.Header["Bcc"]) > 0 {
				t.Errorf("got %q", got.body)
			}
		})
	}
	t.Run("more than there is room for", func(t *testing.T) {
		msg := failure()
		msg.HeldBack = 1
		msg.Output = strings.Repeat("line\n", notify.OutputLimit) + "the end\n"
		body := mailed(t, notify.Target{Mail: []string{"ops@example.com"}}, msg).body
		if len(body) > notify.OutputLimit+1000 || !strings.HasSuffix(body, "\nline\nthe end\n") ||
			!strings.Contains(body, "\nThe end of its output:\n\nline\n") ||
			!strings.Contains(body, "\n1 more like this was not sent since the last one.\n") {
			t.Errorf("%d bytes: %s", len(body), body[:min(len(body), 700)])
		}
	})
	t.Run("nothing", func(t *testing.T) {
		msg := failure()
		msg.Output, msg.Config = "", "/etc/sched/shop.yaml"
		body := mailed(t, notify.Target{Mail: []string{"ops@example.com"}}, msg).body
		if !strings.HasSuffix(body, "\nmore      sched logs -c /etc/sched/shop.yaml 5c2f9a1b3d4e\n\nIt printed nothing.\n") {
			t.Errorf("got %s", body)
		}
	})
}

// TestSendmail runs a sendmail of its own from the PATH.
func TestSendmail(t *testing.T) {
	for _, row := range []struct {
		what, script string
		text         string
		permanent    bool
	}{
		{"takes the mail", `cat > mail; echo "$@" > arguments`, "", false},
		{"takes the mail and warns", `cat > mail; echo "$@" > arguments; echo careful >&2`, "", false},
		{"takes the mail and leaves a daemon behind", `cat > mail; echo "$@" > arguments; sleep 60 & echo $! > pid`, "", false},
		{"asks to come again", "cat >/dev/null; echo the queue is full >&2; exit 75",
			": exit code 75: the queue is full", false},
		{"does not know the user", "cat >/dev/null; printf 'no such\\n\\033[31muser' >&2; exit 67",
			": exit code 67: no such user", true},
		{"fails without reading", "exit 70", ": exit code 70", false},
		{"talks without an end", "yes | head -c 1000000 >&2; exit 1",
			": exit code 1: " + strings.Repeat("y ", 99) + "y…", false},
		{"is killed", "kill -9 $$", ": signal: killed", false},
	} {
		t.Run(row.what, func(t *testing.T) {
			dir := sendmail(t, "cd \"$(dirname \"$0\")\"\n"+row.script)
			target := notify.Target{MailFrom: "sched@example.com", Mail: []string{"ops@example.com"}}
			e := send(t, target, failure())
			if row.text != "" {
				row.text = filepath.Join(dir, "sendmail") + row.text
			}
			expect(t, e, target, row.text, "", row.permanent)
			if e != nil {
				return
			}
			text, _ := os.ReadFile(filepath.Join(dir, "mail"))
			arguments, _ := os.ReadFile(filepath.Join(dir, "arguments"))
			if got := read(t, string(text)); got.Get("To") != "<ops@example.com>" ||
				got.subject != "[shop] nightly-report failed: exit code 7" ||
				!strings.Contains(got.body, "no such table: orders") || bytes.ContainsRune(text, '\r') ||
				string(arguments) != "-i -t\n" {
				t.Errorf("sendmail %s got\n%s", arguments, text)
			}
			if pid, err := os.ReadFile(filepath.Join(dir, "pid")); err == nil {
				kill(t, string(pid))
			}
		})
	}
	t.Run("gets no secret of the environment", func(t *testing.T) {
		t.Setenv("SCHED_STORE", "redis://:s3cret@10.0.0.1")
		t.Setenv("DB_PASSWORD", "hunter2")
		t.Setenv("LC_ALL", "C")
		dir := sendmail(t, `cat >/dev/null; env > "$(dirname "$0")/environment"`)
		target := notify.Target{Mail: []string{"ops@example.com"}}
		expect(t, send(t, target, failure()), target, "", "", false)
		text, _ := os.ReadFile(filepath.Join(dir, "environment"))
		if s := "\n" + string(text); strings.Contains(s, "s3cret") || strings.Contains(s, "hunter2") ||
			!strings.Contains(s, "\nPATH=") ||
			!strings.Contains(s, "\nLC_ALL=C\n") || !strings.Contains(s, "\nHOME=") {
			t.Errorf("its environment is %s", text)
		}
	})
	t.Run("hangs", func(t *testing.T) {
		dir := sendmail(t, `echo $$ > "$(dirname "$0")/pid"; sleep 60; true`)
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		pid := filepath.Join(dir, "pid")
		go func() { // the deadline comes while it hangs
			for ctx.Err() == nil {
				if text, _ := os.ReadFile(pid); len(text) > 1 {
					cancel()
				}
				time.Sleep(10 * time.Millisecond)
			}
		}()
		target := notify.Target{Mail: []string{"ops@example.com"}}
		e := sendWithin(t, ctx, target, failure())
		if e == nil || e.Permanent || !strings.HasPrefix(e.Text, target.String()+": "+dir+"/sendmail: no answer in ") ||
			!strings.HasSuffix(e.Text, ", and then sched had to end") {
			t.Errorf("%v", e)
		}
	})
	t.Run("is not there", func(t *testing.T) {
		for _, path := range []string{"/usr/sbin/sendmail", "/usr/lib/sendmail"} {
			if _, err := os.Stat(path); err == nil {
				t.Skip("this machine has one")
			}
		}
		t.Setenv("PATH", t.TempDir())
		target := notify.Target{Mail: []string{"ops@example.com"}}
		expect(t, send(t, target, failure()), target, "this machine has no sendmail",
			"name a mail server: mail: {url: smtp://host}", false)
	})
	t.Run("is broken", func(t *testing.T) {
		dir := sendmail(t, "")
		if err := os.WriteFile(filepath.Join(dir, "sendmail"), []byte("#!/no/such/shell\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		target := notify.Target{Mail: []string{"ops@example.com"}}
		expect(t, send(t, target, failure()), target,
			"fork/exec "+filepath.Join(dir, "sendmail")+": no such file or directory", "", false)
	})
}

// sendmail puts a script of that name first into the PATH.
func sendmail(t *testing.T, script string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "sendmail"), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return dir
}

func kill(t *testing.T, pid string) {
	t.Helper()
	n := 0
	for _, c := range strings.TrimSpace(pid) {
		n = n*10 + int(c-'0')
	}
	if n > 1 {
		syscall.Kill(n, syscall.SIGKILL)
	}
}
