package mcp

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
)

// versions are the versions of the protocol that a Server speaks, the newest first. A newer client
// asks for its own, is offered the newest of these, and takes it. 2025-03-26
// is left out: clients of it may send several messages as a list.
var versions = []string{"2025-11-25", "2025-06-18", "2024-11-05"}

// A Server offers tools to one client.
type Server struct {
	Name, Version string
	About         string // instructions for the model
	Tools         []Tool
}

const (
	maxLine    = 1 << 20 // bytes of a message
	maxCalls   = 16      // calls that wait or are answered; each further one is refused
	maxAtOnce  = 4       // calls that are answered at the same time
	maxIDBytes = 200     // of the id of a request
)

// Serve answers the messages of in, one a line, until it ends; then it finishes the calls that go
// on. When ctx is done, it ends the calls that go on and returns why. A client that stops reading
// makes it wait.
func (s *Server) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c := &connection{server: s, out: out, cancel: cancel, calls: map[string]context.CancelFunc{},
		places: make(chan struct{}, maxAtOnce)}
	read := make(chan error, 1)
	go func() { read <- c.readAll(ctx, in) }() // a read of stdin cannot be cancelled
	select {
	case <-ctx.Done():
	case err := <-read:
		if err != nil {
			cancel(err)
		}
	}
	c.running.Wait()
	return context.Cause(ctx)
}

// A connection is one client that is served. The reader starts a goroutine for each call; the
// goroutines write their answers themselves.
type connection struct {
	server  *Server
	cancel  context.CancelCauseFunc
	running sync.WaitGroup
	places  chan struct{} // bounds the calls that are answered at the same time

	mu    sync.Mutex // of out and calls
	out   io.Writer
	calls map[string]context.CancelFunc // that wait or are answered, by the id of their request
}

// A message is a request or a notification of the client.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"` // empty for a notification
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
}

// hasID reports whether the id is one: a text or a number.
func (m message) hasID() bool {
	return len(m.ID) > 0 && len(m.ID) <= maxIDBytes && strings.ContainsRune(`"-0123456789`, rune(m.ID[0]))
}

// A failure is the error of a request, with its code of JSON-RPC.
type failure struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// The codes of failures (https://www.jsonrpc.org/specification, 5.1).
const (
	notJSON       = -32700
	noRequest     = -32600
	unknownMethod = -32601
	wrongParams   = -32602
	isBusy        = -32000
)

// readAll reads messages to the end of in.
func (c *connection) readAll(ctx context.Context, in io.Reader) error {
	reader := bufio.NewReaderSize(in, 64<<10)
	for ctx.Err() == nil {
		line, err := readLine(reader)
		switch {
		case errors.Is(err, bufio.ErrTooLong):
			c.answer(nil, nil, &failure{notJSON, fmt.Sprintf("a message has more than %d bytes", maxLine)})
		case len(bytes.TrimSpace(line)) > 0:
			c.take(ctx, line)
		}
		if err != nil && !errors.Is(err, bufio.ErrTooLong) {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
	return nil
}

// readLine returns the next line. It skips a line of more than maxLine bytes, and returns
// bufio.ErrTooLong for it.
func readLine(reader *bufio.Reader) (line []byte, err error) {
	for tooLong := false; ; {
		part, err := reader.ReadSlice('\n')
		if tooLong = tooLong || len(line)+len(part) > maxLine; !tooLong {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case tooLong && err == nil:
			return nil, bufio.ErrTooLong
		case tooLong:
			return nil, err
		default:
			return line, err
		}
	}
}

// take answers one message, or starts the call that it asks for.
func (c *connection) take(ctx context.Context, line []byte) {
	var m message
	err := json.Unmarshal(line, &m)
	switch {
	case !json.Valid(line):
		c.answer(nil, nil, &failure{notJSON, "this is no JSON"})
	case err != nil || m.Version != "2.0" || len(m.ID) > 0 && !m.hasID():
		c.answer(nil, nil, &failure{noRequest, "this is no request of JSON-RPC 2.0"})
	case m.Method == "": // the answer to a request, and this server sends none
	case len(m.ID) == 0:
		c.note(m)
	case m.Method == "tools/call":
		c.call(ctx, m)
	default:
		result, failed := c.server.result(m)
		c.answer(m.ID, result, failed)
	}
}

// note takes a notification.
func (c *connection) note(m message) {
	var cancelled struct {
		ID json.RawMessage `json:"requestId"`
	}
	if m.Method != "notifications/cancelled" || json.Unmarshal(m.Params, &cancelled) != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if cancel := c.calls[string(cancelled.ID)]; cancel != nil {
		cancel()
	}
}

// result answers a request that takes no time.
func (s *Server) result(m message) (result any, failed *failure) {
	switch m.Method {
	case "initialize":
		var asked struct {
			Version string `json:"protocolVersion"`
		}
		if json.Unmarshal(m.Params, &asked) != nil {
			return nil, &failure{wrongParams, "the params of initialize cannot be read"}
		}
		version := versions[0]
		if slices.Contains(versions, asked.Version) {
			version = asked.Version
		}
		return map[string]any{
			"protocolVersion": version,
			"capabilities":    map[string]any{"tools": map[string]any{}},
			"serverInfo":      map[string]any{"name": s.Name, "version": s.Version},
			"instructions":    s.About,
		}, nil
	case "ping":
		return map[string]any{}, nil
	case "tools/list":
		tools := []any{}
		for _, t := range s.Tools {
			tools = append(tools, t.shown())
		}
		return map[string]any{"tools": tools}, nil
	}
	return nil, &failure{unknownMethod, fmt.Sprintf("there is no method %.60q", m.Method)}
}

// call starts the call of a tool. A call with the id of one that goes on is refused, because a
// cancellation would not say which it means.
func (c *connection) call(ctx context.Context, m message) {
	id := string(m.ID)
	ctx, cancel := context.WithCancel(ctx)
	c.mu.Lock()
	refused := len(c.calls) >= maxCalls || c.calls[id] != nil
	if !refused {
		c.calls[id] = cancel
	}
	c.mu.Unlock()
	if refused {
		cancel()
		c.answer(m.ID, nil, &failure{isBusy, fmt.Sprintf("%d calls wait already, or one with this id", maxCalls)})
		return
	}
	c.running.Go(func() {
		defer cancel()
		c.places <- struct{}{}
		result, failed := c.server.call(ctx, m.Params)
		<-c.places
		cancelled := ctx.Err() != nil
		c.mu.Lock()
		delete(c.calls, id)
		c.mu.Unlock()
		if !cancelled { // the client does not wait for the answer any more
			c.answer(m.ID, result, failed)
		}
	})
}

// call calls a tool. The errors of tools are results, which models see.
func (s *Server) call(ctx context.Context, params json.RawMessage) (result any, failed *failure) {
	var asked struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if json.Unmarshal(params, &asked) != nil {
		return nil, &failure{wrongParams, "the params of tools/call cannot be read"}
	}
	i := slices.IndexFunc(s.Tools, func(t Tool) bool { return t.Name == asked.Name })
	if i < 0 {
		return nil, &failure{wrongParams, fmt.Sprintf("there is no tool %.60q", asked.Name)}
	}
	arguments, err := s.Tools[i].read(asked.Arguments)
	text := ""
	if err = cmp.Or(err, ctx.Err()); err == nil {
		text, err = s.Tools[i].Call(ctx, arguments)
	}
	if err != nil {
		text = err.Error()
	}
	content := []any{map[string]any{"type": "text", "text": text}}
	return map[string]any{"content": content, "isError": err != nil}, nil
}

// answer writes an answer in one line. An answer that cannot be written ends the connection.
func (c *connection) answer(id json.RawMessage, result any, failed *failure) {
	var body any = map[string]any{"jsonrpc": "2.0", "id": id, "result": result}
	if failed != nil {
		body = map[string]any{"jsonrpc": "2.0", "id": id, "error": failed}
	}
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false) // it would make six bytes of each <
	err := encoder.Encode(body)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		_, err = c.out.Write(line.Bytes())
	}
	if err != nil {
		c.cancel(err)
	}
}
