package web

import (
	"fmt"
	"html"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/a-h/templ"

	"sched/schedule/humanize"
	"sched/schedule/view"
)

// A pen is how a terminal would write at some point of a log: the colours of SGR sequences
// (ECMA-48), as CSS classes.
type pen struct {
	fore, back int // a colour of ECMA-48, 0 to 15, plus 1; 0 is the usual colour
	bold, dim  bool
	underline  bool
}

// The colours that mark the first error of a log, as a pen has them: plus 1.
const (
	red       = 1 + 1
	brightRed = 9 + 1
)

// class returns the pen as CSS classes; "" for usual text.
func (p pen) class() string {
	var classes []string
	if p.fore > 0 {
		classes = append(classes, fmt.Sprintf("f%d", p.fore-1))
	}
	if p.back > 0 {
		classes = append(classes, fmt.Sprintf("b%d", p.back-1))
	}
	if p.bold {
		classes = append(classes, "bold")
	}
	if p.dim {
		classes = append(classes, "dim")
	}
	if p.underline {
		classes = append(classes, "under")
	}
	return strings.Join(classes, " ")
}

// set does what a sequence of SGR says. It skips colours of 256 and of 24 bits by their length, and
// shows the first 16 of the 256.
func (p *pen) set(codes []int) {
	for i := 0; i < len(codes); i++ {
		switch code := codes[i]; {
		case code == 0:
			*p = pen{}
		case code == 1:
			p.bold = true
		case code == 2:
			p.dim = true
		case code == 4:
			p.underline = true
		case code == 22:
			p.bold, p.dim = false, false
		case code == 24:
			p.underline = false
		case code >= 30 && code <= 37:
			p.fore = code - 30 + 1
		case code >= 90 && code <= 97:
			p.fore = code - 90 + 9
		case code == 39:
			p.fore = 0
		case code >= 40 && code <= 47:
			p.back = code - 40 + 1
		case code >= 100 && code <= 107:
			p.back = code - 100 + 9
		case code == 49:
			p.back = 0
		case code == 38 || code == 48:
			colour, skip := extended(codes[i+1:])
			i += skip
			if code == 38 {
				p.fore = colour
			} else {
				p.back = colour
			}
		}
	}
}

// extended reads what follows 38 and 48: 5;N or 2;R;G;B.
func extended(codes []int) (colour, skip int) {
	switch {
	case len(codes) >= 2 && codes[0] == 5:
		if codes[1] >= 0 && codes[1] < 16 {
			colour = codes[1] + 1
		}
		return colour, 2
	case len(codes) >= 4 && codes[0] == 2:
		return 0, 4
	}
	return 0, len(codes)
}

// marked returns a part of a log; lines at some offsets have an id.
func marked(log view.Log, marks map[int64]string) templ.Component {
	var out printer
	at := log.Offset
	lines := strings.SplitAfter(string(log.Text), "\n")
	for i, line := range lines {
		switch id := marks[at]; {
		case i == 0 && at > 0 && id == "" && len(lines) > 1: // leave it out: its beginning may be cut off
		case id != "":
			fmt.Fprintf(&out, `<mark id="%s">`, id)
			out.putLog(line)
			out.WriteString(`</mark>`)
		default:
			out.putLog(line)
		}
		at += int64(len(line))
	}
	return templ.Raw(out.String())
}

// A printer writes output with its colours alone. The colours of one part go on in the next.
type printer struct {
	strings.Builder
	now pen
}

// putLog writes a part. A lone \r begins a new line, as in `sched logs`.
func (w *printer) putLog(log string) {
	log = strings.ReplaceAll(strings.ToValidUTF8(log, "\uFFFD"), "\r\n", "\n")
	var run strings.Builder
	flush := func() {
		if class := w.now.class(); run.Len() > 0 && class != "" {
			fmt.Fprintf(w, `<span class="%s">%s</span>`, class, html.EscapeString(run.String()))
		} else {
			w.WriteString(html.EscapeString(run.String()))
		}
		run.Reset()
	}
	for log != "" {
		if n := humanize.EscapeLen(log); n > 0 {
			if codes, ok := colours(log[:n]); ok {
				flush()
				w.now.set(codes)
			}
			log = log[n:]
			continue
		}
		r, size := utf8.DecodeRuneInString(log)
		log = log[size:]
		switch {
		case r == '\r':
			run.WriteByte('\n')
		case r == '\n', r == '\t', !unicode.IsControl(r) && !unicode.Is(unicode.Bidi_Control, r):
			run.WriteRune(r)
		}
	}
	flush()
}

// colours returns the codes of a sequence of SGR; false for any other sequence.
func colours(sequence string) (codes []int, ok bool) {
	inner, begins := strings.CutPrefix(sequence, "\x1b[")
	inner, ends := strings.CutSuffix(inner, "m")
	if !begins || !ends || len(inner) > 100 {
		return nil, false
	}
	for _, field := range strings.FieldsFunc(inner+" ", func(r rune) bool { return r == ';' || r == ':' }) {
		n, _ := strconv.Atoi(strings.TrimSpace(field)) // an empty one is 0
		codes = append(codes, n)
	}
	return codes, true
}
