package foreign

import (
	"cmp"
	"encoding/xml"
	"errors"
	"io"
	"strings"

	"sched/schedule/humanize"
)

// A quartzTrigger is a trigger of an XML file.
type quartzTrigger struct {
	Name       string `xml:"name"`
	Job        string `xml:"job-name"`
	JobGroup   string `xml:"job-group"`
	Expression string `xml:"cron-expression"`
	Zone       string `xml:"time-zone"`
	Misfire    string `xml:"misfire-instruction"`
	Calendar   string `xml:"calendar-name"`
	Start      string `xml:"start-time"`
	End        string `xml:"end-time"`
	quartzData
}

// quartzData are the values that a job or a trigger hands to its class.
type quartzData struct {
	Data []struct{} `xml:"job-data-map>entry"`
}

// A quartzJob is a job of an XML file.
type quartzJob struct {
	Name  string `xml:"name"`
	Group string `xml:"group"`
	Class string `xml:"job-class"`
	quartzData
}

// quartzKey is the same for a job and its triggers.
func quartzKey(group, name string) [2]string {
	return [2]string{cmp.Or(strings.TrimSpace(group), "DEFAULT"), strings.TrimSpace(name)}
}

// readQuartz reads triggers of an XML file, or of properties the values that Quartz takes.
func readQuartz(text string) (jobs []*Job, err error) {
	if !strings.HasPrefix(strings.TrimSpace(strings.TrimPrefix(text, "\uFEFF")), "<") {
		return quartzProperties(text)
	}
	all := map[[2]string]quartzJob{}
	decoder := xml.NewDecoder(strings.NewReader(text))
	triggers := map[*Job]quartzTrigger{}
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		switch line, _ := decoder.InputPos(); start.Name.Local {
		case "job":
			var job quartzJob
			if err := decoder.DecodeElement(&job, &start); err != nil {
				return nil, err
			}
			all[quartzKey(job.Group, job.Name)] = job
		case "cron", "simple", "calendar-interval":
			var trigger quartzTrigger
			if err := decoder.DecodeElement(&trigger, &start); err != nil {
				return nil, err
			}
			j := &Job{Line: line, Name: strings.TrimSpace(trigger.Name)}
			if start.Name.Local != "cron" {
				j.refuse("a trigger <%s> counts from its own start: `every` says it by the clock", start.Name.Local)
			}
			triggers[j], jobs = trigger, append(jobs, j)
		}
	}
	for _, j := range jobs {
		trigger := triggers[j]
		setQuartz(j, trigger, all[quartzKey(trigger.JobGroup, trigger.Job)])
	}
	return jobs, nil
}

func setQuartz(j *Job, trigger quartzTrigger, job quartzJob) {
	j.Expressions, j.Zone = []string{strings.TrimSpace(trigger.Expression)}, strings.TrimSpace(trigger.Zone)
	for _, odd := range [][2]string{{"misfire-instruction", trigger.Misfire}, {"calendar-name", trigger.Calendar},
		{"start-time", trigger.Start}, {"end-time", trigger.End}} {
		if value := strings.TrimSpace(odd[1]); value != "" {
			j.note("not taken: %s %s", odd[0], value)
		}
	}
	if len(trigger.Data)+len(job.Data) > 0 {
		j.note("not taken: job-data-map")
	}
	class := strings.TrimSpace(job.Class)
	if class == "" {
		class = "of the job " + strings.TrimSpace(trigger.Job)
	}
	setLater(j, "the class "+class)
}

// quartzProperties reads lines NAME = EXPRESSION. A line whose value has not the look of one has no
// job.
func quartzProperties(text string) (jobs []*Job, err error) {
	for number, line := range strings.Split(text, "\n") {
		key, value, ok := strings.Cut(line, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if !ok || strings.HasPrefix(key, "#") || strings.HasPrefix(key, "!") {
			continue
		}
		if quartzTimes().MatchString(value) {
			j := &Job{Line: number + 1, Name: key, Expressions: []string{value}}
			setLater(j, "the job of "+key)
			jobs = append(jobs, j)
		}
	}
	return jobs, nil
}

// quartzTimes is the look of an expression: six or seven fields that begin with seconds.
var quartzTimes = humanize.Pattern(`^[0-9*/][0-9*/,-]*(?: +[-0-9A-Za-z*?/,#]+){5,6}$`)
