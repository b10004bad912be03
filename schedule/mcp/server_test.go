package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// echo has a tool that answers with its arguments, one that fails, and one that waits for its end.
func echo() *Server { return echoing(nil) }

// echoing is echo, which says when a call that waited was cancelled.
func echoing(cancelled chan<- struct{}) *Server {
	return &Server{Name: "echo", Version: "1", About: "it echoes", Tools: []Tool{
		{Name: "say", About: "says it", Params: []Param{
			{Name: "text", Type: Text, Required: true, Most: 20}, {Name: "lines", Type: Lines}, {Name: "n", Type: Integer, Most: 9},
			{Name: "loud", Type: Boolean}, {Name: "all", Type: Texts}},
			Call: func(_ context.Context, a Arguments) (string, error) {
				return fmt.Sprint(a.Text("text"), a.Text("lines"), a.Integer("n"), a.Is("loud"), a.Texts("all")), nil
			}},
		{Name: "fail", Call: func(context.Context, Arguments) (string, error) { return "", errors.New("to no avail") }},
		{Name: "wait", Call: func(ctx context.Context, _ Arguments) (string, error) {
			<-ctx.Done()
			select {
			case cancelled <- struct{}{}:
			default:
			}
			return "", ctx.Err()
		}},
	}}
}

// says returns the answers to messages, one a line.
func says(t testing.TB, lines string) (answers []string) {
	t.Helper()
	var out bytes.Buffer
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := echo().Serve(ctx, strings.NewReader(lines), &out); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		var answer struct {
			Version string          `json:"jsonrpc"`
			Result  json.RawMessage `json:"result"`
			Error   *failure        `json:"error"`
		}
		if err := json.Unmarshal([]byte(line), &answer); err != nil || answer.Version != "2.0" ||
			(answer.Result == nil) == (answer.Error == nil) {
			t.Errorf("this is no answer: %s", line)
		}
		answers = append(answers, line)
	}
	return answers
}

func TestTheClientOfTheSDKListsAndCallsEachTool(t *testing.T) {
	t.Parallel()
	toServer, fromClient := io.Pipe()
	toClient, fromServer := io.Pipe()
	ended := make(chan error, 1)
	cancelled := make(chan struct{}, 1)
	go func() { ended <- echoing(cancelled).Serve(t.Context(), toServer, fromServer) }()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &sdk.IOTransport{Reader: toClient, Writer: fromClient}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := session.InitializeResult(); got.Instructions != "it echoes" || got.ServerInfo.Name != "echo" {
		t.Errorf("the server says of itself: %+v", got)
	}
	if err := session.Ping(t.Context(), nil); err != nil {
		t.Error(err)
	}
	list, err := session.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != 3 || !list.Tools[0].Annotations.ReadOnlyHint {
		t.Fatalf("%+v: %v", list, err)
	}
	call := func(ctx context.Context, name string, arguments map[string]any) (text string, failed bool) {
		result, err := session.CallTool(ctx, &sdk.CallToolParams{Name: name, Arguments: arguments})
		if err != nil {
			return err.Error(), true
		}
		return result.Content[0].(*sdk.TextContent).Text, result.IsError
	}
	for _, c := range []struct {
		name      string
		arguments map[string]any
		text      string
		failed    bool
	}{
		{"say", map[string]any{"text": "a", "lines": "b\nc", "n": 3, "loud": true, "all": []string{"x", "--y"}}, "ab\nc3 true [x --y]", false},
		{"say", map[string]any{"lines": "b"}, "say needs the argument text", true},
		{"say", map[string]any{"text": "a\x1b[2J"}, "text has a control character", true},
		{"say", map[string]any{"text": strings.Repeat("é", 21)}, "text has more than 20 characters", true},
		{"say", map[string]any{"text": "a", "n": 10}, "n is not a number from 1 to 9", true},
		{"say", map[string]any{"text": "a", "n": 1.5}, "n is not a number from 1 to 9", true},
		{"say", map[string]any{"text": "a", "loud": "yes"}, "loud is neither true nor false", true},
		{"say", map[string]any{"text": "a", "all": "x"}, "all is not a list of at most 100 texts", true},
		{"say", map[string]any{"text": "a", "approve": "1"}, `say takes no argument "approve"`, true},
		{"fail", nil, "to no avail", true},
		{"approve", nil, `there is no tool "approve"`, true},
	} {
		if text, failed := call(t.Context(), c.name, c.arguments); !strings.Contains(text, c.text) || failed != c.failed {
			t.Errorf("%s %v says %q (failed: %t)", c.name, c.arguments, text, failed)
		}
	}
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if text, failed := call(short, "wait", nil); !failed { // the client cancels it; else Serve would not end
		t.Errorf("wait says %q", text)
	}
	select {
	case <-cancelled:
	case <-time.After(time.Minute):
		t.Error("the server was not told that the client does not wait any more")
	}
	session.Close()
	fromClient.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestWrongMessagesAreAnsweredAndEndNothing(t *testing.T) {
	t.Parallel()
	long := `{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", maxLine) + `"}`
	for message, want := range map[string]string{
		`{`:                        "no JSON",
		long:                       "more than 1048576 bytes",
		`[]`:                       "no request",
		`"x"`:                      "no request",
		`{"id":1,"method":"ping"}`: "no request",
		`{"jsonrpc":"2.0","id":null,"method":"ping"}`:                                              "no request",
		`{"jsonrpc":"2.0","id":{},"method":"ping"}`:                                                "no request",
		`{"jsonrpc":"2.0","id":1,"method":"tools/approve"}`:                                        "there is no method",
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":[]}`:                               "cannot be read",
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":1}`:                                "cannot be read",
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"1999-01-01"}}`: `"protocolVersion":"2025-11-25"`,
	} {
		answers := says(t, message+"\n"+`{"jsonrpc":"2.0","id":"after","method":"ping"}`)
		if len(answers) != 2 || !strings.Contains(strings.Join(answers, ""), want) || !strings.Contains(strings.Join(answers, ""), `"after"`) {
			t.Errorf("%.80s is answered with %q", message, answers)
		}
	}
	said := says(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"say","arguments":{"text":"<&>"}}}`)
	if len(said) != 1 || !strings.Contains(said[0], "<&>") {
		t.Errorf("each sign has more than one byte: %q", said)
	}
	if silent := says(t, "\n\n"+`{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"+
		`{"jsonrpc":"2.0","id":7,"result":{}}`); len(silent) > 0 {
		t.Errorf("what needs no answer gets %q", silent)
	}
}

func TestNoMoreCallsWaitThanTheServerBears(t *testing.T) {
	t.Parallel()
	in, client := io.Pipe()
	out, server := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- echo().Serve(ctx, in, server); server.Close() }()
	go func() {
		for n := range maxCalls + 1 {
			fmt.Fprintf(client, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"wait"}}`+"\n", n)
		}
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.Contains(line, "16 calls wait already") {
		t.Errorf("%s%v", line, err)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// seeds are messages that a fuzzer begins with.
var seeds = []string{
	`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`,
	`{"jsonrpc":"2.0","id":"a","method":"tools/list","params":{"cursor":"x"}}`,
	`{"jsonrpc":"2.0","id":-1,"method":"ping"}`,
	`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"say","arguments":{"text":"a","n":3,"all":["x"]}}}`,
	`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"fail","arguments":null}}`,
	`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`,
}

func FuzzMessages(f *testing.F) {
	for _, seed := range seeds {
		f.Add(seed + "\n" + seeds[3])
	}
	f.Fuzz(func(t *testing.T, lines string) { says(t, strings.ReplaceAll(lines, "wait", "say")) })
}

// Each message is one of the seeds with bytes changed, cut out or doubled.
func TestAHundredThousandRandomMessagesEndNothing(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 62))
	var lines strings.Builder
	for range 100_000 {
		line := []byte(seeds[random.IntN(len(seeds))])
		for range random.IntN(4) {
			at := random.IntN(len(line))
			switch random.IntN(3) {
			case 0:
				line[at] = byte(random.IntN(256))
			case 1:
				line = append(line[:at], line[min(len(line)-1, at+random.IntN(9)):]...)
			case 2:
				line = append(line[:at], append([]byte(string(line[at:])), line[at:]...)...)
			}
		}
		lines.Write(bytes.ReplaceAll(line, []byte("\n"), []byte(" ")))
		lines.WriteString("\n")
	}
	lines.WriteString(`{"jsonrpc":"2.0","id":"the last","method":"ping"}`)
	answers := says(t, lines.String())
	if !strings.Contains(strings.Join(answers[max(0, len(answers)-maxCalls-1):], ""), `"the last"`) {
		t.Error("the last message was not answered")
	}
	t.Logf("%d answers", len(answers))
}
