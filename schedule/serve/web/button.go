package web

import "sched/schedule"

// A button opens a dialog that says what will happen, and sends a form.
type button struct {
	ID, Label string
	Effect    string // what will happen
	Path      string // to which the form is sent
	HowLong   bool   // a field asks for how long
	Params    []paramField
	Tag       string // the ETag of what was seen; "" for none
	Grave     bool   // the button is red
}

// A paramField is a field for a param of one more run of a task.
type paramField struct {
	Name, Target string
	Means        string   // what it may be
	Values       []string // the choices; empty for any text
	Value        string   // what it is unless somebody changes it
	Has          bool     // there is such a value
}

// paramFields are the fields for the params of one more run of a task. The target is the task, or
// the run whose values a retry keeps.
func paramFields(t *schedule.Task, target string, given map[string]string) (fields []paramField) {
	for _, p := range t.Params {
		value, has := given[p.Name]
		if !has && p.Default != nil {
			value, has = *p.Default, true
		}
		fields = append(fields, paramField{p.Name, target, p.String(), p.Values, value, has})
	}
	return fields
}
