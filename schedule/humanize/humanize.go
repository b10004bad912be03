// Package humanize writes times, durations, counts and foreign text for people, each in one way. It
// also finds the nearest spelling of a word (Nearest), and compiles patterns late (Pattern).
//
// All functions are pure and safe for concurrent use: no function reads a clock, the environment or
// the locale. Times are written in the zone that the caller names. Package cmd/terminal handles
// terminals.
package humanize

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"
)

// Count writes a number with its noun, which takes an s in the plural: "1 slot", "0 slots", "12
// slots".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Names lists the first names: "a, b, c and 4 more".
func Names(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// Or lists words, at least one: "a, b or c".
func Or(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// ShellWord writes a text as one word for a POSIX shell: in quotes if it needs them.
func ShellWord(text string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+,:@%="
	if text != "" && strings.Trim(text, plain) == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// Pattern returns a regular expression that is compiled at its first use: a tick starts each
// minute, and needs few.
func Pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// Bytes writes a size of memory or of a file in units of 1,024 (IEC 80000-13): "512 KiB", "41 MiB",
// "1.5 GiB".
func Bytes(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.0f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.0f KiB", float64(n)/(1<<10))
}

// ShortRun returns the last 12 characters of a run's id, which people see and commands accept. They
// differ between runs of the same second. A text that is no id stays as it is.
func ShortRun(id string) string {
	const long, short = 36, 12
	if len(id) != long {
		return id
	}
	return id[long-short:]
}

// WithoutPath returns err without its path, for a message that has the path already.
func WithoutPath(err error) error {
	if pathError, ok := errors.AsType[*fs.PathError](err); ok {
		return pathError.Err
	}
	return err
}

// Nearest returns the known word nearest to word, or "". It ignores case and takes "-" for "_".
func Nearest(word string, known []string) string {
	underscored := func(text string) string { return strings.ReplaceAll(text, "-", "_") }
	word = underscored(strings.ToLower(word))
	best, nearest := 1+min(len(word)/3, 3), ""
	for _, k := range known {
		if underscored(k) == word {
			return k
		}
		if d := Distance(word, underscored(k), best); d < best {
			best, nearest = d, k
		}
	}
	return nearest
}

// Distance returns how many letters must be added, left out, changed or swapped with the next one
// to turn a into b (Damerau's distance). If the lengths of a and b differ by at least enough, it
// returns enough.
func Distance(a, b string, enough int) int {
	if max(len(a)-len(b), len(b)-len(a)) >= enough {
		return enough
	}
	var before, last []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, row = last, row, make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(b)]
}

// Line makes one line of foreign text, safe for a terminal or a table. Control characters become
// spaces, marks of direction are removed, and bytes that are not UTF-8 become U+FFFD.
func Line(foreign string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r), r == '\u2028', r == '\u2029':
			return ' '
		case unicode.Is(unicode.Bidi_Control, r):
			return -1
		}
		return r
	}, foreign)
}

// Plain makes valid lines of a command's output, without control characters (tabs excepted) and
// escape sequences. If a line was drawn over with \r, each version of it becomes a line. Plain is
// idempotent.
func Plain(printed string) string {
	text := strings.ToValidUTF8(printed, "\uFFFD")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	var b strings.Builder
	b.Grow(len(text))
	for text != "" {
		if n := EscapeLen(text); n > 0 {
			text = text[n:]
			continue
		}
		r, size := utf8.DecodeRuneInString(text)
		text = text[size:]
		switch {
		case r == '\r':
			b.WriteByte('\n')
		case r == '\n', r == '\t', !unicode.IsControl(r):
			b.WriteRune(r)
		}
	}
	return b.String()
}

// EscapeLen returns the length of the escape sequence that text begins with (ECMA-35 and ECMA-48);
// 0 if it begins with no such sequence.
func EscapeLen(text string) int {
	if len(text) < 2 || text[0] != 0x1b {
		return 0
	}
	switch text[1] {
	case '[': // parameters, then a final byte
		return sequenceEnd(text, 2, 0x20, 0x3f)
	case ']', 'P', '^', '_': // text until BEL or ESC \; a line break ends a sequence that was broken off
		end := strings.IndexAny(text[2:], "\a\x1b\n")
		switch {
		case end < 0:
			return len(text)
		case text[2+end] == '\a':
			return 2 + end + 1
		case strings.HasPrefix(text[2+end:], "\x1b\\"):
			return 2 + end + 2
		}
		return 2 + end
	}
	return sequenceEnd(text, 1, 0x20, 0x2f)
}

// sequenceEnd returns the index at which a sequence ends: after bytes in from..to and one final
// byte, if it is there.
func sequenceEnd(text string, i int, from, to byte) int {
	for i < len(text) && text[i] >= from && text[i] <= to {
		i++
	}
	if i < len(text) && text[i] > to && text[i] <= '~' {
		i++
	}
	return i
}

// The functions below write times. Their names say how precise the time is, and what stands beside
// it:
//
//	Minute, Second   to the minute, to the second
//	Slot             to the minute, or to the second if the task is due within a minute
//	…Near            without the date if that is the date of near
//	…OfDay           without the date
//	…Zone            with the name of the zone

// hourMinute is the layout of a time of day.
const hourMinute = "15:04"

// Minute writes a time to the minute: "2026-03-29 10:00".
func minute(t time.Time, zone *time.Location) string {
	return t.In(zone).Format(time.DateOnly + " " + hourMinute)
}

// MinuteZone is Minute with the name of the zone, for readers who may think of another zone, or of
// the hour before the clocks changed: "2026-03-29 10:00 CEST".
func MinuteZone(t time.Time, zone *time.Location) string { return minute(t, zone) + zoneName(t, zone) }

// MinuteNearZone writes a time to the minute with its zone. It adds the date only if that is not
// the date of near: "10:00 CEST", or "2026-03-28 10:00 CET". For times around now, near is now.
func MinuteNearZone(t, near time.Time, zone *time.Location) string {
	if SameDay(t, near, zone) {
		return t.In(zone).Format(hourMinute) + zoneName(t, zone)
	}
	return MinuteZone(t, zone)
}

// Second writes a time to the second: "2026-03-29 10:00:00".
func Second(t time.Time, zone *time.Location) string { return t.In(zone).Format(time.DateTime) }

// SecondZone is Second with the name of the zone: "2026-03-29 10:00:00 CEST".
func SecondZone(t time.Time, zone *time.Location) string { return Second(t, zone) + zoneName(t, zone) }

// Slot writes the time at which a task is due: to the minute, or to the second if the time is not
// at the start of a minute. "2026-03-29 10:00", "2026-03-29 10:00:30".
func Slot(t time.Time, zone *time.Location) string {
	return t.In(zone).Format(time.DateOnly) + " " + SlotOfDay(t, zone)
}

// SlotZone is Slot with the name of the zone: "2026-03-29 10:00 CEST".
func SlotZone(t time.Time, zone *time.Location) string { return Slot(t, zone) + zoneName(t, zone) }

// SlotNear is Slot, with the date only if that is not the date of near: "10:00", "10:00:30",
// "2026-03-28 10:00".
func SlotNear(t, near time.Time, zone *time.Location) string {
	if SameDay(t, near, zone) {
		return SlotOfDay(t, zone)
	}
	return Slot(t, zone)
}

// SlotNearZone is SlotNear with the name of the zone: "10:00:30 CEST".
func SlotNearZone(t, near time.Time, zone *time.Location) string {
	return SlotNear(t, near, zone) + zoneName(t, zone)
}

// SlotOfDay is Slot without the date: "10:00", "10:00:30".
func SlotOfDay(t time.Time, zone *time.Location) string {
	if t.Second() != 0 {
		return t.In(zone).Format(time.TimeOnly)
	}
	return t.In(zone).Format(hourMinute)
}

// SlotOfDayZone is SlotOfDay with the name of the zone: "10:00 CEST".
func SlotOfDayZone(t time.Time, zone *time.Location) string {
	return SlotOfDay(t, zone) + zoneName(t, zone)
}

// SameDay reports whether two times have the same date in the zone.
func SameDay(a, b time.Time, zone *time.Location) bool {
	return a.In(zone).Format(time.DateOnly) == b.In(zone).Format(time.DateOnly)
}

// Later returns the later of two times.
func Later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// zoneName returns the name of the zone at a time, after a space.
func zoneName(t time.Time, zone *time.Location) string { return t.In(zone).Format(" MST") }

// Duration writes how long something takes, in the two largest units that matter: "310 ms", "9.5
// s", "42 s", "1 m 15 s", "2 h 0 m", "3 d 4 h". Smaller units are left out; below a minute they are
// rounded. The duration must not be negative.
func Duration(d time.Duration) string {
	tenths, seconds := d.Round(time.Second/10), d.Round(time.Second)
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case tenths < 10*time.Second:
		return fmt.Sprintf("%.1f s", tenths.Seconds())
	case seconds < time.Minute:
		return fmt.Sprintf("%.0f s", seconds.Seconds())
	case d < time.Minute:
		return "1 m 0 s"
	case d < time.Hour:
		return fmt.Sprintf("%d m %d s", int(d.Minutes()), int(d.Seconds())%60)
	case d < 24*time.Hour:
		return fmt.Sprintf("%d h %d m", int(d.Hours()), int(d.Minutes())%60)
	case d == math.MaxInt64: // the most that time.Time.Sub returns
		return "over 292 years"
	}
	return fmt.Sprintf("%d d %d h", int(d.Hours())/24, int(d.Hours())%24)
}

// Age writes how much time has passed since a time, as Duration does. For a time that is to come it
// writes "0 ms": the clock was set back since.
func Age(since, now time.Time) string { return Duration(max(0, now.Sub(since))) }

// DurationPrecise writes a duration for notifications, which people keep. Below a minute it is
// precise to the tenth of a second, above to the second: "310 ms", "11.5 s", "1m15s", "20m",
// "1h0m". The duration must not be negative.
func DurationPrecise(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d.Round(time.Second/10) < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	text := d.Round(time.Second).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	return text
}

// Every writes a span in the words of the key every: "5 minutes", or "90 minutes from 2026-01-01
// 00:00" if the hours do not divide evenly. ok is false if the span is no whole number of minutes,
// and no part of a minute in whole seconds.
func Every(span time.Duration) (words string, ok bool) {
	switch minutes := int(span / time.Minute); {
	case span >= time.Second && span < time.Minute && span%time.Second == 0 && time.Minute%span == 0:
		return Count(int(span/time.Second), "second"), true
	case minutes <= 0 || span%time.Minute != 0:
		return "", false
	case minutes < 60 && 60%minutes == 0:
		return Count(minutes, "minute"), true
	case minutes%60 == 0 && minutes/60 <= 24 && 24%(minutes/60) == 0:
		return Count(minutes/60, "hour"), true
	default:
		return Count(minutes, "minute") + " from 2026-01-01 00:00", true
	}
}

// EveryOf returns the words of Every for the span of Go behind an `@every`, such as 1h30m. For any
// other text it returns otherwise.
func EveryOf(text, otherwise string) (words string) {
	if span, err := time.ParseDuration(strings.TrimSpace(text)); err == nil {
		if words, ok := Every(span); ok {
			return words
		}
	}
	return otherwise
}

// Setting writes a duration as a schedule has it: "30d", "1h30m", "1m30s", "50ms".
func Setting(d time.Duration) string {
	const day = 24 * time.Hour
	days := ""
	if d >= day {
		days, d = fmt.Sprintf("%dd", d/day), d%day
	}
	if d == 0 && days != "" {
		return days
	}
	rest := d.String()
	for _, none := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(rest, none) {
			rest = strings.TrimSuffix(rest, none[1:])
		}
	}
	return days + rest
}

// Digits reads a plain number without sign and spaces. A number above 1<<24 reads as 1<<24.
func Digits(text string) (n int, ok bool) {
	for i := 0; i < len(text); i++ {
		if text[i] < '0' || text[i] > '9' {
			return 0, false
		}
		n = min(n*10+int(text[i]-'0'), 1<<24)
	}
	return n, text != ""
}
