package mutex

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"

	"sched/schedule/humanize"
)

// LongestValue is how long the JSON of a value may be, in bytes.
const LongestValue = 64 << 10

// Decode reads JSON from a store. Everything that is read from a store goes through it, because any
// program with access to the store can write there. It is not ok if the value is too long or is not
// JSON of a T.
//
//   - Texts are cleaned: see Clean.
//   - Times before 1970 or after 2200 become zero: they could not be printed, or would overflow.
//   - Maps and interfaces are emptied: nothing of ours has one.
func Decode[T any](foreign []byte) (value T, ok bool) {
	var none T
	if len(foreign) > LongestValue || json.Unmarshal(foreign, &value) != nil {
		return none, false
	}
	clean(reflect.ValueOf(&value).Elem())
	return value, true
}

// Clean makes one line of foreign text, without control characters, of at most 1,000 bytes.
func Clean(foreign string) string {
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

func clean(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(Clean(v.String()))
	case reflect.Pointer:
		if !v.IsNil() {
			clean(v.Elem())
		}
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return // raw JSON, which callers drop
		}
		for i := range v.Len() {
			clean(v.Index(i))
		}
	case reflect.Map, reflect.Interface:
		v.SetZero()
	case reflect.Struct:
		if v.Type() == timeType {
			if t := v.Interface().(time.Time); t.Before(earliest) || t.After(latest) {
				v.SetZero()
			}
			return
		}
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				clean(v.Field(i))
			}
		}
	}
}
