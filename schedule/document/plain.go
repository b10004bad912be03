package document

import "gopkg.in/yaml.v3"

// Plain returns what a text of YAML stands for, as encoding/json takes it: the default or the example of a Type. The text is
// ours, so an error is a mistake of ours.
func Plain(text string) (any, error) {
	var value any
	err := yaml.Unmarshal([]byte(text), &value)
	return value, err
}
