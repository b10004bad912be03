package foreign

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"sched/schedule/yamldoc"
)

// Bounds of a TOML file. The time that the library takes grows with the square of the keys.
const (
	maxTOML      = 256 << 10
	maxTOMLDepth = 100
)

// tomlDocument reads a TOML file. Its keys come in the order of the alphabet.
func tomlDocument(text string) (node, error) {
	if len(text) > maxTOML {
		return node{}, fmt.Errorf("it is larger than %d KiB", maxTOML>>10)
	}
	for line := range strings.Lines(text) {
		if strings.Count(line, ".") > maxLine {
			return node{}, errors.New("a line has too many dots")
		}
	}
	values := map[string]any{}
	if err := toml.Unmarshal([]byte(text), &values); err != nil {
		var at *toml.DecodeError
		if errors.As(err, &at) {
			line, _ := at.Position()
			return node{}, fmt.Errorf("line %d is no TOML: %w", line, err)
		}
		return node{}, fmt.Errorf("it is no TOML: %w", err)
	}
	root, err := tomlValue(values, 0)
	if err != nil {
		return node{}, err
	}
	return nodeOf(root), nil
}

// maxLine is how many dots a line may have: each may be a table inside of another one.
const maxLine = 10_000

// tomlValue returns a value of TOML as one of YAML.
func tomlValue(value any, depth int) (*yamldoc.Node, error) {
	if depth > maxTOMLDepth {
		return nil, errors.New("its tables are too deep")
	}
	var inner []*yamldoc.Node
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			below, err := tomlValue(value[key], depth+1)
			if err != nil {
				return nil, err
			}
			inner = append(inner, yamldoc.NewText(key), below)
		}
		return yamldoc.NewMapping(inner...), nil
	case []any:
		for _, item := range value {
			below, err := tomlValue(item, depth+1)
			if err != nil {
				return nil, err
			}
			inner = append(inner, below)
		}
		return yamldoc.NewList(inner...), nil
	case string:
		if strings.ContainsFunc(value, isUnprintable) {
			return nil, fmt.Errorf("%q has a character that no schedule can have", value)
		}
	}
	return yamldoc.NewText(fmt.Sprint(value)), nil
}

// isUnprintable reports a control character, but no newline and no tab.
func isUnprintable(r rune) bool {
	return r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || r == 0xfffe || r == 0xffff
}
