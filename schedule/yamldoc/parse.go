package yamldoc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// Parse returns the one value in the text of the current file. Aliases and merge keys are replaced
// by what they stand for. If the text is not one value, Parse records a problem and returns nil.
func (r *Reader) Parse(data []byte) *Node {
	if !r.RequireText(data) {
		return nil
	}
	documents, err := documentsOf(bytes.NewReader(data))
	switch {
	case err != nil:
		reportSyntaxError(r, data, err)
	case len(documents) > 1:
		r.Problemf((*Node)(documents[1]), "remove the line `---`", "a second document starts here, and a schedule is one")
	case len(documents) == 0 || (*Node)(documents[0].Content[0]).IsNull():
		r.ProblemAt(Place{r.File, 1, 1}, "a schedule starts with `tasks:`", "the file is empty")
	default:
		root := documents[0].Content[0]
		if resolve(r, root, data) {
			return (*Node)(root)
		}
	}
	return nil
}

// RequireText refuses data that is not text in UTF-8, or that holds control characters. Parse calls
// it itself.
func (r *Reader) RequireText(data []byte) bool {
	line, column, text := notText(data)
	if text != "" {
		r.ProblemAt(Place{r.File, line, column}, "", "%s", text)
	}
	return text == ""
}

// documentsOf returns the first two documents of the text, or fewer if the text has fewer.
func documentsOf(r io.Reader) (documents []*yaml.Node, err error) {
	defer func() { // yaml.v3 panics on a few broken texts
		if v := recover(); v != nil {
			err = errors.New("this is not YAML that can be read")
		}
	}()
	decoder := yaml.NewDecoder(r)
	for len(documents) < 2 {
		n := new(yaml.Node)
		if err := decoder.Decode(n); err == io.EOF {
			return documents, nil
		} else if err != nil {
			return nil, err
		}
		documents = append(documents, n)
	}
	return documents, nil
}

// IsMapping reports whether the text begins with a YAML document that is a mapping.
func IsMapping(text []byte) bool {
	documents, err := documentsOf(bytes.NewReader(text))
	return err == nil && len(documents) > 0 && (*Node)(documents[0].Content[0]).IsMapping()
}

// Plain returns the value of a text of YAML, as encoding/json takes it: the default or the example
// of a Type. The text is ours, so an error is a mistake of ours.
func Plain(text string) (any, error) {
	var value any
	err := yaml.Unmarshal([]byte(text), &value)
	return value, err
}

// KeysAt returns the mapping that begins at a place in the text as a text of its own, without one
// of its keys. It keeps comments, and replaces aliases and merge keys by what they stand for.
func KeysAt(text []byte, line, column int, without string) ([]byte, error) {
	r := NewReader(Options{})
	root := r.Parse(text)
	if root == nil {
		return nil, errors.New("the file is no YAML")
	}
	found := mappingAt((*yaml.Node)(root), line, column)
	if found == nil {
		return nil, errors.New("the file has changed")
	}
	keys := *found
	keys.Content, keys.Style = nil, 0
	for i := 0; i+1 < len(found.Content); i += 2 {
		if found.Content[i].Value != without {
			keys.Content = append(keys.Content, found.Content[i], found.Content[i+1])
		}
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	err := encoder.Encode(&keys)
	return out.Bytes(), err
}

func mappingAt(n *yaml.Node, line, column int) *yaml.Node {
	if n.Kind == yaml.MappingNode && n.Line == line && n.Column == column {
		return n
	}
	for _, child := range n.Content {
		if found := mappingAt(child, line, column); found != nil {
			return found
		}
	}
	return nil
}

// notText returns the first place that holds what YAML text may not hold, and a message about it;
// "" for valid text.
func notText(data []byte) (line, column int, text string) {
	line, column = 1, 1
	for i := 0; i < len(data); {
		c := data[i]
		switch {
		case c == '\n':
			line, column = line+1, 0
		case c >= ' ' && c < 0x7f || c == '\t' || c == '\r':
		case c < utf8.RuneSelf:
			return line, column, fmt.Sprintf("the file holds the control character 0x%02x: it is not text", c)
		default:
			r, size := utf8.DecodeRune(data[i:])
			if r == utf8.RuneError && size == 1 {
				return line, column, fmt.Sprintf("the byte 0x%02x is not UTF-8: the file is not text in UTF-8", c)
			}
			if r >= 0x80 && r < 0xa0 && r != 0x85 || r == 0xfffe || r == 0xffff {
				return line, column, fmt.Sprintf("the file holds the control character 0x%02x: it is not text", r)
			}
			i += size - 1
		}
		i++
		column++
	}
	return 0, 0, ""
}
