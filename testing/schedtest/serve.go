package schedtest

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"sched/schedule/pause"
)

// An API is a `sched serve` that runs.
type API struct {
	*Box
	*exec.Cmd
	URL, Token string
}

// Serve starts `sched serve` in the box, with the flags and the environment of a command.
func (b *Box) Serve(change func(*exec.Cmd), flags ...string) *API {
	b.Helper()
	token := b.Command("serve", "token", "--scope", "edit", "--name", "ci"+time.Now().Format("150405.000000000"))
	c := b.Command(append([]string{"serve", "--listen", "127.0.0.1:0"}, flags...)...)
	change(token)
	change(c)
	out, err := token.CombinedOutput()
	if err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	words := strings.Fields(string(out))
	pipe, err := c.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	var errs bytes.Buffer
	c.Stderr = &errs
	if err := c.Start(); err != nil {
		b.Fatal(err)
	}
	line, err := bufio.NewReader(pipe).ReadString('\n')
	url := regexp.MustCompile(`http://\S+/`).FindString(line)
	if url == "" {
		b.Fatalf("%q, %v, %s", line, err, errs.String())
	}
	s := &API{b, c, url + "api/v1", words[len(words)-1]}
	b.Cleanup(func() { c.Process.Kill(); c.Wait() })
	return s
}

// Ask sends a request, and returns the status and the body. The status is 0 if the server is gone.
func (s *API) Ask(method, path, body string, headers ...string) (int, string) {
	r, err := http.NewRequest(method, s.URL+path, strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.Token)
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	return response.StatusCode, string(text)
}

// ReadUntil reads a stream until a line has a text.
func ReadUntil(t *testing.T, from *bufio.Reader, text string) {
	t.Helper()
	for {
		line, err := from.ReadString('\n')
		if strings.Contains(line, text) {
			return
		}
		if err != nil {
			t.Fatalf("%q did not come: %v", text, err)
		}
	}
}

// Etag returns the ETag of a path, as of a task, or "" if it has no ETag.
func (s *API) Etag(path string) string {
	r, _ := http.NewRequest("GET", s.URL+path, nil)
	r.Header.Set("Authorization", "Bearer "+s.Token)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return ""
	}
	response.Body.Close()
	return response.Header.Get("ETag")
}

// Pauses returns the pauses of the box, and fails when they cannot be read.
func (b *Box) Pauses() pause.Pauses {
	b.Helper()
	read, err := pause.Source{Dir: b.Path(".sched")}.Read()
	if err != nil {
		b.Fatal(err)
	}
	return read.Pauses
}
