// Package chromium looks at pages in a real browser for tests. If chromium is not installed, the
// test is skipped.
package chromium

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/draw"
	"image/png"
	"os"
	"os/exec"
	"testing"
	"time"
)

// Variable is the environment variable that says what to do with tests that need a browser. With
// "required" they fail if chromium is not installed, with "none" they are skipped in any case.
const Variable = "SCHED_TEST_CHROMIUM"

// A Browser is a chromium with one window. It ends with the test, also when that is killed, because
// then the pipe on which it listens is closed.
type Browser struct {
	t       testing.TB
	send    *os.File
	receive *os.File
	unread  []byte
	session string // of its window
	id      int
	loaded  map[string]bool // the loads that are over, by their ids
}

// A Window is how a page is looked at.
type Window struct {
	Width, Height int // pixels
	Dark          bool
}

// A Photo is what a window shows of a page.
type Photo struct {
	*image.NRGBA
	PageWidth int // of all of the page: more than the window if the page scrolls sideways
}

// patience bounds each answer of the browser, far above what a busy machine needs.
const patience = 2 * time.Minute

// Start starts a browser. Scripts do not run in it: what it shows does not depend on time.
func Start(t testing.TB) *Browser {
	t.Helper()
	if os.Getenv(Variable) == "none" {
		t.Skipf("%s=none", Variable)
	}
	program, err := exec.LookPath("chromium")
	if err != nil {
		if os.Getenv(Variable) == "required" {
			t.Fatalf("%s=required: %v", Variable, err)
		}
		t.Skipf("there is no chromium: %v", err)
	}
	b := &Browser{t: t, loaded: map[string]bool{}}
	theirIn, send, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	receive, theirOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	b.send, b.receive = send, receive
	home, err := os.MkdirTemp("", "chromium") // t.TempDir fails if the last process still writes into it
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(program, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
		"--user-data-dir="+home, "--hide-scrollbars", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--force-color-profile=srgb", "--lang=en-US",
		"--font-render-hinting=none", "about:blank")
	command.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_CACHE_HOME="+home)
	command.ExtraFiles = []*os.File{theirIn, theirOut} // the descriptors 3 and 4
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	theirIn.Close()
	theirOut.Close()
	t.Cleanup(func() {
		b.write("Browser.close", nil)
		send.Close()
		late := time.AfterFunc(patience, func() { command.Process.Kill() })
		command.Wait()
		late.Stop()
		receive.Close()
		for end := time.Now().Add(10 * time.Second); os.RemoveAll(home) != nil && time.Now().Before(end); {
			time.Sleep(10 * time.Millisecond)
		}
	})
	var target struct{ TargetID string }
	b.ask("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.ask("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	b.ask("Page.enable", nil, nil)
	b.ask("Page.setLifecycleEventsEnabled", map[string]any{"enabled": true}, nil)
	b.ask("Emulation.setScriptExecutionDisabled", map[string]any{"value": true}, nil)
	return b
}

// Photograph returns what a window shows of the page at a URL, from its top.
func (b *Browser) Photograph(url string, w Window) Photo {
	b.t.Helper()
	scheme := map[bool]string{true: "dark", false: "light"}[w.Dark]
	b.ask("Emulation.setDeviceMetricsOverride",
		map[string]any{"width": w.Width, "height": w.Height, "deviceScaleFactor": 1, "mobile": false}, nil)
	b.ask("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{
		{"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": "reduce"}}}, nil)
	var load struct{ LoaderID, ErrorText string }
	b.ask("Page.navigate", map[string]any{"url": url}, &load)
	if load.ErrorText != "" {
		b.t.Fatalf("%s: %s", url, load.ErrorText)
	}
	for !b.loaded[load.LoaderID] {
		b.next("Page.navigate")
	}
	var fonts struct{ Result struct{ Value string } }
	b.ask("Runtime.evaluate", map[string]any{"expression": "document.fonts.ready.then(() => document.fonts.status)",
		"awaitPromise": true, "returnByValue": true}, &fonts)
	if fonts.Result.Value != "loaded" {
		b.t.Fatalf("%s: the fonts are %s", url, fonts.Result.Value)
	}
	var sizes struct{ CSSContentSize struct{ Width float64 } }
	b.ask("Page.getLayoutMetrics", nil, &sizes)
	var shot struct{ Data string }
	b.ask("Page.captureScreenshot", map[string]any{"format": "png", "optimizeForSpeed": true}, &shot)
	text, err := base64.StdEncoding.DecodeString(shot.Data)
	if err != nil {
		b.t.Fatal(err)
	}
	decoded, err := png.Decode(bytes.NewReader(text))
	if err != nil {
		b.t.Fatal(err)
	}
	picture := image.NewNRGBA(decoded.Bounds())
	draw.Draw(picture, picture.Bounds(), decoded, decoded.Bounds().Min, draw.Src)
	return Photo{picture, int(sizes.CSSContentSize.Width)}
}

// ask calls a method of the DevTools protocol, and reads its result.
func (b *Browser) ask(method string, params, result any) {
	b.t.Helper()
	id := b.write(method, params)
	m := b.next(method)
	for m.ID != id {
		m = b.next(method)
	}
	if m.Error != nil {
		b.t.Fatalf("%s: %s", method, m.Error.Message)
	}
	if result != nil {
		if err := json.Unmarshal(m.Result, result); err != nil {
			b.t.Fatalf("%s: %v", method, err)
		}
	}
}

// A message is an answer or an event of the browser.
type message struct {
	ID     int
	Method string
	Params struct{ Name, LoaderID string }
	Result json.RawMessage
	Error  *struct{ Message string }
}

func (b *Browser) write(method string, params any) int {
	b.id++
	call := map[string]any{"id": b.id, "method": method}
	if params != nil {
		call["params"] = params
	}
	if b.session != "" && method != "Browser.close" {
		call["sessionId"] = b.session
	}
	text, err := json.Marshal(call)
	if err != nil {
		b.t.Fatal(err)
	}
	b.send.Write(append(text, 0)) // if it fails, no answer comes
	return b.id
}

// next reads a message: JSON, and a zero byte.
func (b *Browser) next(method string) (m message) {
	b.t.Helper()
	b.receive.SetReadDeadline(time.Now().Add(patience))
	part := make([]byte, 1<<20)
	for {
		if text, rest, ok := bytes.Cut(b.unread, []byte{0}); ok {
			b.unread = rest
			if err := json.Unmarshal(text, &m); err != nil {
				b.t.Fatal(fmt.Errorf("chromium answered %s with %.200q: %w", method, text, err))
			}
			if m.Method == "Page.lifecycleEvent" && m.Params.Name == "load" {
				b.loaded[m.Params.LoaderID] = true
			}
			return m
		}
		n, err := b.receive.Read(part)
		if b.unread = append(b.unread, part[:n]...); err != nil {
			b.t.Fatalf("chromium does not answer %s: %v", method, err)
		}
	}
}
