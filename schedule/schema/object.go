package schema

import (
	"bytes"
	"encoding/json"
)

// An object is a JSON object whose members stay in their order.
type object []member

type member struct {
	name  string
	value any
}

// MarshalJSON writes the members in their order, and <, > and & as they are.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for i, m := range o {
		b.WriteByte("{,"[min(i, 1)])
		if err := e.Encode(m.name); err != nil {
			return nil, err
		}
		b.WriteByte(':')
		if err := e.Encode(m.value); err != nil {
			return nil, err
		}
	}
	if len(o) == 0 {
		b.WriteByte('{')
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func (o object) with(more ...member) object { return append(o[:len(o):len(o)], more...) }

// list is short for a list of whatever.
func list(items ...any) []any { return items }

// is returns an object of names and values in turn.
func is(pairs ...any) object {
	var o object
	for i := 0; i < len(pairs); i += 2 {
		o = append(o, member{pairs[i].(string), pairs[i+1]})
	}
	return o
}

func ref(name string) object { return is("$ref", "#/$defs/"+name) }

// anyOf accepts what one of the schemas does.
func anyOf(schemas ...any) object { return is("anyOf", schemas) }

// required accepts objects with the keys, and whatever is no object.
func required(keys ...any) object { return is("required", keys) }
