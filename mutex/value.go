package mutex

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"sched/schedule/humanize"
)

// A Holder says which run has a mutex, or has claimed a key. Only Run decides anything; the rest is
// for people.
type Holder struct {
	Run   string    `json:"run"`
	PID   int       `json:"pid"` // 0 when it is unknown
	Host  string    `json:"host"`
	Task  string    `json:"task,omitempty"` // of the run; "" when it is unknown
	Since time.Time `json:"since"`
}

// Text returns a phrase that follows "is held": since when, on the clock of the zone, and by which
// run and process.
func (h Holder) Text(zone *time.Location) string {
	if h.Run == "" {
		return "by a run that left no name"
	}
	who := "run " + humanize.Line(humanize.ShortRun(h.Run)) // others may have written it
	if h.PID != 0 {
		who += fmt.Sprintf(", pid %d", h.PID)
	}
	if h.Host != "" {
		who += " on " + humanize.Line(h.Host)
	}
	if h.Since.IsZero() {
		return "by " + who
	}
	return fmt.Sprintf("since %s (%s)", humanize.SecondZone(h.Since, zone), who)
}

// A storedValue is what a store has for a lock or a claim. Each attempt has its own nonce: an
// attempt that failed is undone by its value, and the value of an earlier attempt of the same run
// must stay.
type storedValue struct {
	Holder
	Nonce string `json:"nonce"`
}

// NewValue returns what a store keeps for one attempt of a holder. It has no pid: when a lock is
// taken its command has none yet, and a store never learns it.
func NewValue(holder Holder) string {
	holder.PID = 0
	text, _ := json.Marshal(storedValue{holder, rand.Text()}) // texts and numbers: this cannot fail
	return string(text)
}

// HolderOf reads a value. The holder of a value that cannot be read is empty.
func HolderOf[V string | []byte](value V) Holder {
	v, _ := Decode[storedValue]([]byte(value))
	return v.Holder
}

// MaxValueSize is the size, in bytes, that the JSON of a value may have.
const MaxValueSize = 64 << 10

// Decode reads JSON from a store. Everything that is read from a store goes through it, because any
// program with access to the store can write there. It is not ok if the value is too long or is not
// JSON of a T.
//
//   - Texts are cleaned: see CleanText.
//   - Times before 1970 or after 2200 become zero: they could not be printed, or would overflow.
//   - A map[string]string is kept, with its keys and values cleaned. Any other map, and any
//     interface, is emptied: no type of ours has one.
func Decode[T any](foreign []byte) (value T, ok bool) {
	var none T
	if len(foreign) > MaxValueSize || json.Unmarshal(foreign, &value) != nil {
		return none, false
	}
	cleanValue(reflect.ValueOf(&value).Elem())
	return value, true
}

// CleanText makes one line of foreign text, without control characters, of at most 1,000 bytes.
func CleanText(foreign string) string {
	const (
		maxSize = 1000 // bytes
		more    = "…"
	)
	line := strings.TrimSpace(humanize.Line(humanize.Plain(foreign)))
	if len(line) <= maxSize {
		return line
	}
	return strings.ToValidUTF8(line[:maxSize-len(more)], "") + more
}

// The times that Decode takes, both ends included.
var (
	earliest = time.Unix(0, 0)
	latest   = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)
)

// cleanValue cleans a value and everything in it: see Decode.
func cleanValue(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(CleanText(v.String()))
	case reflect.Pointer:
		if !v.IsNil() {
			cleanValue(v.Elem())
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			cleanValue(v.Index(i))
		}
	case reflect.Map, reflect.Interface:
		cleanMap(v)
	case reflect.Struct:
		if at, isTime := v.Interface().(time.Time); isTime {
			if at.Before(earliest) || at.After(latest) {
				v.SetZero()
			}
			return
		}
		for i := range v.NumField() {
			if v.Field(i).CanSet() { // not a private field, which JSON does not set either
				cleanValue(v.Field(i))
			}
		}
	}
}

// cleanMap cleans a map[string]string. It empties any other map, and any interface.
func cleanMap(v reflect.Value) {
	texts, _ := v.Interface().(map[string]string)
	v.SetZero()
	if len(texts) == 0 {
		return
	}
	cleaned := map[string]string{}
	for name, text := range texts {
		cleaned[CleanText(name)] = CleanText(text)
	}
	v.Set(reflect.ValueOf(cleaned))
}
