package load

import (
	"bytes"
	"encoding/json"
)

// A jsonObject is a JSON object whose members stay in their order.
type jsonObject []jsonMember

type jsonMember struct {
	name  string
	value any
}

// MarshalJSON writes the members in their order, and <, > and & as they are.
func (o jsonObject) MarshalJSON() ([]byte, error) {
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

func (o jsonObject) with(more ...jsonMember) jsonObject { return append(o[:len(o):len(o)], more...) }

// list is short for a list of anything.
func list(items ...any) []any { return items }

// object returns an object of names and values in turn.
func object(pairs ...any) jsonObject {
	var o jsonObject
	for i := 0; i < len(pairs); i += 2 {
		o = append(o, jsonMember{pairs[i].(string), pairs[i+1]})
	}
	return o
}

func ref(name string) jsonObject { return object("$ref", "#/$defs/"+name) }

// anyOf accepts what one of the schemas does.
func anyOf(schemas ...any) jsonObject { return object("anyOf", schemas) }

// required accepts objects with the keys, and anything that is no object.
func required(keys ...any) jsonObject { return object("required", keys) }
