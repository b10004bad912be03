package schedtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
	"github.com/rogpeppe/go-internal/testscript"
)

// A web is an HTTP server that notes what it gets: a line with the method and the path in web.log,
// and the body of the n-th request in web/n. The path decides its answer:
//
//	/ok      204
//	/twice   503 to the first two requests with the same path, then 204
//	/refuse  410
//	/moved   a redirect to /ok
//	/hang    nothing, until release
type web struct {
	dir  string
	Addr string

	mu      sync.Mutex
	server  *http.Server
	count   int
	seen    map[string]int
	release chan struct{}
}

func NewWeb(dir string) *web {
	return &web{dir: dir, Addr: "127.0.0.1:0", seen: map[string]int{}, release: make(chan struct{})}
}

func (w *web) Up() error {
	listener, err := net.Listen("tcp", w.Addr)
	if err != nil {
		return err
	}
	w.Addr = listener.Addr().String()
	w.server = &http.Server{Handler: w}
	go w.server.Serve(listener)
	return nil
}

func (w *web) Down() {
	if w.server != nil {
		w.server.Close()
		w.server = nil
	}
}

// LetGo ends what hangs.
func (w *web) LetGo() {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.release)
	w.release = make(chan struct{})
}

func (w *web) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.mu.Lock()
	w.count++
	w.seen[r.URL.Path]++
	seen, release := w.seen[r.URL.Path], w.release
	os.MkdirAll(filepath.Join(w.dir, "web"), 0o755)
	os.WriteFile(filepath.Join(w.dir, "web", fmt.Sprint(w.count)), body, 0o644)
	log, err := os.OpenFile(filepath.Join(w.dir, "web.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err == nil {
		fmt.Fprintln(log, r.Method, r.URL.Path)
		log.Close()
	}
	w.logAll(r, body)
	w.mu.Unlock()
	status := http.StatusNoContent
	switch what := strings.Split(r.URL.Path, "/")[1]; {
	case what == "twice" && seen <= 2:
		status = http.StatusServiceUnavailable
	case what == "refuse":
		status = http.StatusGone
	case what == "moved":
		http.Redirect(out, r, "/ok"+strings.TrimPrefix(r.URL.Path, "/moved"), http.StatusTemporaryRedirect)
		return
	case what == "hang":
		<-release
	}
	out.WriteHeader(status)
}

// logAll writes all of a request to requests.log, on one line and with a JSON body made compact.
func (w *web) logAll(r *http.Request, body []byte) {
	var compact bytes.Buffer
	if json.Compact(&compact, body) == nil {
		body = compact.Bytes()
	}
	log, err := os.OpenFile(filepath.Join(w.dir, "requests.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err == nil {
		fmt.Fprintf(log, "%s %s %s %s\n", r.Method, r.URL.RequestURI(), r.Header.Get("Content-Type"), body)
		log.Close()
	}
}

// webCommand is `web up|down|release`: an HTTP server for the script, whose URL is in $WEB.
func webCommand(ts *testscript.TestScript, neg bool, args []string) {
	w := ts.Value("web").(*web)
	switch {
	case neg || len(args) != 1:
		ts.Fatalf("usage: web up|down|release")
	case args[0] == "up":
		w.dir = ts.Getenv("WORK")
		ts.Check(w.Up())
		ts.Defer(w.LetGo)
		ts.Defer(w.Down)
		ts.Setenv("WEB", "http://"+w.Addr)
	case args[0] == "down":
		w.Down()
	default:
		w.LetGo()
	}
}

// A post is a mail server that writes the n-th mail it gets to mails/n, with the envelope before
// it.
type post struct {
	dir  string
	addr string

	mu       sync.Mutex
	listener net.Listener
	server   *smtp.Server
	count    int
}

func (p *post) up() error {
	listener, err := net.Listen("tcp", p.addr)
	if err != nil {
		return err
	}
	p.listener, p.addr = listener, listener.Addr().String()
	p.server = smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session,
		error) {
		return &session{post: p}, nil
	}))
	p.server.Domain, p.server.AllowInsecureAuth = "localhost", true
	go p.server.Serve(listener)
	return nil
}

func (p *post) down() {
	if p.server != nil {
		p.listener.Close() // the server may not have begun to serve, and then it would not close it
		p.server.Close()
		p.server = nil
	}
}

type session struct {
	post     *post
	auth     string
	from     string
	envelope []string
}

func (s *session) Mail(from string, _ *smtp.MailOptions) error { s.from = from; return nil }
func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.envelope = append(s.envelope, to)
	return nil
}
func (s *session) Reset() { s.envelope = nil }

// Auth takes any user and password, and writes them down with the mail.
func (s *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		s.auth = "AUTH " + user + " " + password + "\n"
		return nil
	}), nil
}
func (s *session) AuthMechanisms() []string { return []string{sasl.Plain} }

func (s *session) Logout() error { return nil }

func (s *session) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	s.post.mu.Lock()
	defer s.post.mu.Unlock()
	s.post.count++
	os.MkdirAll(filepath.Join(s.post.dir, "mails"), 0o755)
	mail := s.auth + fmt.Sprintf("MAIL FROM %s\nRCPT TO %s\n\n%s",
		s.from, strings.Join(s.envelope, " "), strings.ReplaceAll(string(text), "\r\n", "\n"))
	return os.WriteFile(filepath.Join(s.post.dir, "mails", fmt.Sprint(s.post.count)), []byte(mail), 0o644)
}

// postCommand is `post up|down`: a mail server for the script, whose address is in $SMTP.
func postCommand(ts *testscript.TestScript, neg bool, args []string) {
	p := ts.Value("post").(*post)
	switch {
	case neg || len(args) != 1:
		ts.Fatalf("usage: post up|down")
	case args[0] == "down":
		p.down()
	default:
		p.dir = ts.Getenv("WORK")
		ts.Check(p.up())
		ts.Defer(p.down)
		ts.Setenv("SMTP", p.addr)
	}
}
