package serve

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"strings"
)

// An Asking is the body of a request for a run: when it is to start, and why. Without In and At it
// starts now.
type Asking struct {
	In     *float64 `json:"in,omitempty"` // seconds
	At     string   `json:"at,omitempty"` // a time as commands take it
	Reason string   `json:"reason,omitempty"`

	NoChain bool              `json:"no_chain,omitempty"` // its hooks trigger no other task
	Params  map[string]string `json:"params,omitempty"`   // values of params of the task, for this run
}

// A stringList is a list of a body. Null is no list: a script that has no names must not get what
// leaving the list out means.
type stringList []string

func (l *stringList) UnmarshalJSON(text []byte) error {
	if bytes.Equal(text, []byte("null")) {
		return errors.New("a list is null: leave it out, or write its names")
	}
	return json.Unmarshal(text, (*[]string)(l))
}

// A Reason is why something is done.
type Reason struct {
	Reason string `json:"reason,omitempty"`
}

// maxReason is the most characters of a reason.
const maxReason = 500

// checkReason refuses a reason that is too long, or that has a token in it. Every reason is
// checked, in a body or in a header, because everybody who may look sees it.
func checkReason(reason string) error {
	if len([]rune(reason)) > maxReason {
		return badRequest("", "the reason is longer than %d characters", maxReason)
	}
	return refuseToken(reason, "reason")
}

// refuseToken refuses a text with a token in it, because everybody who may look would see it. The
// message calls the text by its name.
func refuseToken(text, name string) error {
	if tokenPattern().MatchString(text) {
		return badRequest("leave it out, and revoke it if others have seen it", "a token is in the %s", name)
	}
	return nil
}

// readBody reads a body as JSON. A body that is missing leaves the zero value.
func readBody(contentType string, body []byte, to any) error {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil
	}
	if kind, _, err := mime.ParseMediaType(contentType); err != nil || kind != "application/json" {
		return NewProblem(http.StatusUnsupportedMediaType,
			"send it with `Content-Type: application/json`", "the body is not JSON")
	}
	// copyValue finds a key that is given twice, and bounds the nesting.
	checked, decoder := json.NewDecoder(bytes.NewReader(body)), json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	err := cmp.Or(copyValue(&bytes.Buffer{}, checked, 0), decoder.Decode(to), expectEnd(decoder))
	if bytes.Equal(bytes.TrimSpace(body), []byte("null")) {
		err = errors.New("it is null, and no object")
	}
	if err != nil {
		return badRequest("the fields are in openapi.json", "the body cannot be read: %s", plainJSON(err))
	}
	return nil
}

// taskKeys returns the keys of the task in the body, as YAML. It does not check them: mistakes are
// found when the schedule is read with them.
func taskKeys(contentType string, body []byte, name string) ([]byte, error) {
	switch kind, _, _ := mime.ParseMediaType(contentType); kind {
	case "application/yaml", "application/x-yaml", "text/yaml":
		return body, nil
	case "application/json":
		return yamlOf(body, name)
	}
	return nil, NewProblem(http.StatusUnsupportedMediaType,
		"send it with `Content-Type: application/yaml` or application/json",
		"the body is neither YAML nor JSON")
}

// yamlOf writes the members of a JSON object as keys of YAML. They stay in their order, also inside
// of their values. The name, which is in the path, is left out.
func yamlOf(body []byte, name string) ([]byte, error) {
	badBody := func(err error) ([]byte, error) {
		return nil, badRequest("send one object with the keys of the task",
			"the body cannot be read: %s", plainJSON(err))
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if start, err := decoder.Token(); err != nil || start != json.Delim('{') {
		return badBody(errors.Join(err, errors.New("it is no object")))
	}
	var out bytes.Buffer
	seen := map[string]bool{}
	for decoder.More() {
		var line bytes.Buffer
		if err := copyMember(&line, decoder, seen, 1); err != nil {
			return badBody(err)
		}
		if line.String() != `"name": `+oneLine(name) {
			out.WriteString(line.String() + "\n")
		}
	}
	_, err := decoder.Token()
	if err = cmp.Or(err, expectEnd(decoder)); err != nil {
		return badBody(err)
	}
	return out.Bytes(), nil
}

// copyMember writes a member of an object as copyValue does. The error also says that its key is
// there twice: package json takes the last one.
func copyMember(out *bytes.Buffer, decoder *json.Decoder, seen map[string]bool, depth int) error {
	token, err := decoder.Token()
	if err != nil {
		return err
	}
	key := oneLine(token)
	if seen[key] {
		return fmt.Errorf("the key %s is there twice", key)
	}
	seen[key] = true
	out.WriteString(key + ": ")
	return copyValue(out, decoder, depth)
}

// maxNesting is how deep objects and lists of a body may lie in each other.
const maxNesting = 50

// copyValue reads a value and writes it in one line. Members of objects stay in their order. depth
// is how deep the value lies.
func copyValue(out *bytes.Buffer, decoder *json.Decoder, depth int) error {
	if depth > maxNesting {
		return fmt.Errorf("it is nested more than %d levels deep", maxNesting)
	}
	start, err := decoder.Token()
	if _, isNested := start.(json.Delim); !isNested || err != nil {
		out.WriteString(oneLine(start))
		return err
	}
	fmt.Fprint(out, start)
	seen := map[string]bool{}
	for comma := ""; decoder.More(); comma = ", " {
		out.WriteString(comma)
		if start == json.Delim('{') {
			err = copyMember(out, decoder, seen, depth+1)
		} else {
			err = copyValue(out, decoder, depth+1)
		}
		if err != nil {
			return err
		}
	}
	end, err := decoder.Token()
	fmt.Fprint(out, end)
	return err
}

// oneLine returns a value as JSON in one line, which is YAML, too.
func oneLine(value any) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.Encode(value)
	return strings.TrimSpace(out.String())
}

// expectEnd returns an error if something comes behind what was read.
func expectEnd(decoder *json.Decoder) error {
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is something behind it")
	}
	return nil
}

// plainJSON says what is wrong with JSON, without names of Go.
func plainJSON(err error) string {
	var kind *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &kind):
		if kind.Type.Kind() == reflect.Float64 { // each number of a body is a time
			return fmt.Sprintf("%s cannot be %s: it is a number of seconds", kind.Field, kind.Value)
		}
		return fmt.Sprintf("%s cannot be %s", cmp.Or(kind.Field, "it"), kind.Value)
	case errors.As(err, &syntax):
		return fmt.Sprintf("it is no JSON at byte %d", syntax.Offset)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return "it ends too soon"
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}
