package web

import (
	"errors"
	"flag"
	"image"
	"image/draw"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/gomono"
	"golang.org/x/image/font/gofont/goregular"

	"sched/schedule/outcome"
	"sched/testing/chromium"
	"sched/testing/machine"
)

var update = flag.Bool("update", false, "write the pictures of testdata/pictures anew")

// served serves the pages to everybody, with the fonts of pictures and more lines of style.
func (b *box) served(t *testing.T, style string) string {
	pages := b.server.Handler(New(b.server))
	fontFiles := map[string][]byte{"/assets/regular.ttf": goregular.TTF, "/assets/bold.ttf": gobold.TTF,
		"/assets/mono.ttf": gomono.TTF}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if font := fontFiles[r.URL.Path]; font != nil {
			w.Header().Set("Content-Type", "font/ttf")
			w.Write(font)
			return
		}
		r.Header.Set("Authorization", "Bearer "+b.token)
		if r.URL.Path != "/assets/style.css" {
			pages.ServeHTTP(w, r)
			return
		}
		css, err := os.ReadFile("assets/style.css")
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "text/css")
		w.Header().Set("Cache-Control", "no-store")
		io.WriteString(w, string(css)+fonts+style)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// fonts are served with the pages, so that pictures do not depend on the fonts of the machine.
const fonts = `
@font-face { font-family: Pictured; src: url(/assets/regular.ttf); }
@font-face { font-family: Pictured; font-weight: 700; src: url(/assets/bold.ttf); }
@font-face { font-family: PicturedMono; src: url(/assets/mono.ttf); }
html { font-family: Pictured; }
code, pre, textarea { font-family: PicturedMono; }
`

// photographed are the pages of which there are pictures.
var photographed = []struct{ name, path string }{
	{"overview", "/"}, {"tasks", "/tasks"}, {"timeline", "/timeline"}, {"forecast", "/forecast"},
	{"task", "/tasks/invoices"}, {"runs", "/runs"}, {"run", "/runs/" + waitingID}, {"servers", "/servers"},
}

// Views are how each of them is looked at. A picture has all views, side by side.
var (
	onDesk      = chromium.Window{Width: 1120, Height: 1000}
	onDeskDark  = chromium.Window{Width: 1120, Height: 1000, Dark: true}
	onPhone     = chromium.Window{Width: 400, Height: 1000}
	onPhoneDark = chromium.Window{Width: 400, Height: 1000, Dark: true}
	views       = []chromium.Window{onDesk, onDeskDark, onPhone, onPhoneDark}
)

// tolerated is how many percent of a view may look otherwise. The same page with letters that lie a
// fifth of a pixel further apart differs by 0.8 percent at most.
const tolerated = 1.2

// The pages look as they did when testdata/pictures was written: their layout and their colours,
// not each letter. To write the pictures anew: go test ./schedule/serve/web -run Pictures -update
func TestPagesLookLikeTheirPictures(t *testing.T) {
	t.Parallel()
	browser := chromium.Start(t)
	address := nightBox(t).served(t, "")
	for _, one := range photographed {
		picture := image.NewNRGBA(image.Rectangle{})
		for _, view := range views {
			photo := browser.Photograph(address+one.path, view)
			if photo.PageWidth > view.Width {
				t.Errorf("%s is %d wide in a window of %d", one.path, photo.PageWidth, view.Width)
			}
			picture = beside(picture, photo.Small())
		}
		if *update {
			writePicture(t, pictureOf(one.name), picture)
			continue
		}
		kept := readPicture(t, pictureOf(one.name))
		left := 0
		for _, view := range views {
			small := image.Rect(left, 0, left+view.Width/8, view.Height/8)
			if by := chromium.Apart(crop(picture, small), crop(kept, small)); by > tolerated {
				seen := filepath.Join(t.ArtifactDir(), one.name+".png")
				writePicture(t, seen, picture)
				t.Errorf("%s in %+v is %.1f %% unlike %s: see %s (go test -artifacts keeps it)",
					one.path, view, by, pictureOf(one.name), seen)
			}
			left = small.Max.X
		}
	}
}

// Damage that a person would see is more than the pictures tolerate. Another way to draw letters is
// not.
func TestPicturesTellDamageFromLetters(t *testing.T) {
	t.Parallel()
	if machine.Slow(t); *update {
		t.Skip("the pictures are written")
	}
	browser, b := chromium.Start(t), nightBox(t)
	for _, tt := range []struct {
		what, page string
		view       int // of views
		style      string
		differs    bool
	}{
		{"letters further apart", "overview", 2, "html { letter-spacing: 0.2px; }", false},
		{"letters closer together", "task", 1, "html { letter-spacing: -0.1px; font-kerning: none; }", false},
		{"no strip of 24 hours", "overview", 0, ".activity { display: none; }", true},
		{"marks without colours", "overview", 3, ".activity rect, .activity path { fill: none; stroke: none; }", true},
		{"nothing that went well", "overview", 1, ".well { display: none; }", true},
		{"no bars in a chart", "task", 2, ".plot rect { display: none; }", true},
		{"one column in a window with room for three", "overview", 0, ".cards { display: block; }", true},
		{"a dark page with dark letters", "runs", 1, "@media (prefers-color-scheme: dark) { :root { --ink: #1b1f24; } }", true},
		{"dark letters on a phone", "servers", 3, "@media (prefers-color-scheme: dark) { :root { --ink: #1b1f24; } }", true},
		{"a dark page with light cards", "servers", 3, "@media (prefers-color-scheme: dark) { :root { --card: #fff; } }", true},
		{"a list without lines", "tasks", 2, ".tasks tbody { display: none; }", true},
		{"no bars in the timeline", "timeline", 0, ".timeline td svg { display: none; }", true},
		{"a forecast without colours", "forecast", 2, ".heat td { background: none !important; }", true},
		{"no state of servers", "servers", 2, "[data-label=state] { display: none !important; }", true},
		{"a run that does not say for what it waits", "run", 2, "#run { display: none; }", true},
	} {
		view, left := views[tt.view], 0
		for _, before := range views[:tt.view] {
			left += before.Width / 8
		}
		i := slices.IndexFunc(photographed, func(one struct{ name, path string }) bool { return one.name == tt.page })
		photo := browser.Photograph(b.served(t, tt.style)+photographed[i].path, view)
		kept := crop(readPicture(t, pictureOf(tt.page)), image.Rect(left, 0, left+view.Width/8, view.Height/8))
		by := chromium.Apart(photo.Small(), kept)
		t.Logf("%s: %.1f %%", tt.what, by)
		if by > tolerated != tt.differs {
			t.Errorf("%s: %s in %+v differs by %.1f %%", tt.what, tt.page, view, by)
		}
	}
	wide := browser.Photograph(b.served(t, ".activity { width: 500px; }")+"/", onPhone)
	if wide.PageWidth <= onPhone.Width {
		t.Errorf("a part of 500 pixels makes a page %d wide", wide.PageWidth)
	}
}

// No page scrolls sideways, also none of the pages without a picture, whatever words people and
// programs have written.
func TestNoPageScrollsSideways(t *testing.T) {
	machine.Slow(t)
	t.Parallel()
	browser, b := chromium.Start(t), nightBox(t)
	long := strings.Repeat("long", 60)
	b.send("POST", "/tasks/newsletter/pause", url.Values{"reason": {long}}, 303)
	failed := b.Ended("newsletter", 180, outcome.Failed, long+"\n")
	failed.Reason, failed.Notes = long, []string{long}
	b.Remember(failed)
	for ago := range 6 { // they become one line, with two times in its first column
		skipped := b.Ended("newsletter", ago, outcome.Skipped, "")
		skipped.Reason = "paused"
		b.Remember(skipped)
	}
	address := b.served(t, "")
	paths := []string{"/pauses", "/audit", "/new", "/act?do=pause&task=invoices&task=price-feed", "/tasks/stock-take",
		"/tasks/newsletter", "/tasks?state=waiting", "/timeline?hours=168", "/timeline?hours=6", "/forecast?for=31d",
		"/runs/" + failed.ID, "/runs/" + failed.ID + "?q=long", "/runs?all_servers=true", "/runs?outcome=skipped",
		"/nothing", "/tasks?q=nothing+like+it"}
	for _, one := range photographed {
		paths = append(paths, one.path)
	}
	for _, path := range paths {
		for _, view := range []chromium.Window{onPhone, onDesk} {
			if wide := browser.Photograph(address+path, view).PageWidth; wide > view.Width {
				t.Errorf("%s is %d wide in a window of %d", path, wide, view.Width)
			}
		}
	}
}

func pictureOf(name string) string { return filepath.Join("testdata", "pictures", name+".png") }

// beside returns a picture with another one at its right.
func beside(a, b *image.NRGBA) *image.NRGBA {
	left := a.Bounds().Dx()
	both := image.NewNRGBA(image.Rect(0, 0, left+b.Bounds().Dx(), b.Bounds().Dy()))
	draw.Draw(both, both.Bounds(), a, image.Point{}, draw.Src)
	draw.Draw(both, b.Bounds().Add(image.Pt(left, 0)), b, image.Point{}, draw.Src)
	return both
}

// crop returns a part of a picture.
func crop(picture *image.NRGBA, part image.Rectangle) *image.NRGBA {
	piece := image.NewNRGBA(image.Rectangle{Max: part.Size()})
	draw.Draw(piece, piece.Bounds(), picture, part.Min, draw.Src)
	return piece
}

func readPicture(t *testing.T, path string) *image.NRGBA {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	decoded, err := png.Decode(file)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	picture := image.NewNRGBA(decoded.Bounds())
	draw.Draw(picture, picture.Bounds(), decoded, image.Point{}, draw.Src)
	return picture
}

func writePicture(t *testing.T, path string, picture *image.NRGBA) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(path)
	if err == nil {
		err = errors.Join((&png.Encoder{CompressionLevel: png.BestCompression}).Encode(file, picture), file.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}
