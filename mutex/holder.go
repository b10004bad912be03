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

// String returns a phrase that follows "is held": since when, and by which run and process.
func (h Holder) String() string {
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
	return fmt.Sprintf("since %s (%s)", h.Since.Local().Format("2006-01-02 15:04:05 MST"), who)
}

// A storedValue is what a store has for a lock or a claim. Each attempt has its own nonce: an
// attempt that failed is undone by its value, and the value of an earlier attempt of the same run
// must stay.
type storedValue struct {
	Holder
	Nonce string `json:"nonce"`
}

// NewValue returns what a store keeps for one attempt of a holder.
func NewValue(holder Holder) string {
	text, _ := json.Marshal(storedValue{holder, rand.Text()}) // texts and numbers: this cannot fail
	return string(text)
}

// HolderOf reads a value. The holder of a value that cannot be read is empty.
func HolderOf[V string | []byte](text V) Holder {
	v, _ := Decode[storedValue]([]byte(text))
	return v.Holder
}

// A HeldError says that another run has the mutex or the key.
type HeldError struct {
	Name   string // of the mutex, or the key of the claim
	Holder Holder // without a Run if its value cannot be read
}

func (e *HeldError) Error() string { return fmt.Sprintf("%s is held %s", e.Name, e.Holder) }

// A LostError says that a run no longer has its mutex, or did not have it all the time.
type LostError struct {
	Name   string
	Holder Holder // who has it now; without a Run when no run has it, or the same one has it again
	Broken bool   // by Break, before the lease ended
}

func (e *LostError) Error() string {
	how := "the lease of %s ran out"
	if e.Broken {
		how = "the lock on %s was broken"
	}
	if e.Holder.Run == "" {
		return fmt.Sprintf(how, e.Name)
	}
	return fmt.Sprintf(how+", and it is held %s", e.Name, e.Holder)
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
//   - Bytes are kept as they are: no caller reads them.
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
	const longest = 1000 // bytes
	line := strings.TrimSpace(humanize.Line(humanize.Plain(foreign)))
	if len(line) <= longest {
		return line
	}
	return strings.ToValidUTF8(line[:longest], "") + "…"
}

var (
	timeType = reflect.TypeFor[time.Time]()
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
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return // raw JSON, which no caller reads
		}
		for i := range v.Len() {
			cleanValue(v.Index(i))
		}
	case reflect.Map, reflect.Interface:
		texts, _ := v.Interface().(map[string]string)
		v.SetZero()
		if len(texts) > 0 {
			cleaned := map[string]string{}
			for name, text := range texts {
				cleaned[CleanText(name)] = CleanText(text)
			}
			v.Set(reflect.ValueOf(cleaned))
		}
	case reflect.Struct:
		if v.Type() == timeType {
			if t := v.Interface().(time.Time); t.Before(earliest) || t.After(latest) {
				v.SetZero()
			}
			return
		}
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				cleanValue(v.Field(i))
			}
		}
	}
}
