package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/aptible/supercronic/crontab"
	"github.com/robfig/cron/v3"
	"github.com/sirupsen/logrus"
)

// A nexter says when a schedule runs next after t, in the zone of t: the zero time for never.
type nexter func(t time.Time) time.Time

// libraries has a reader of expressions for each Go library. left is the end of the expression
// that the program takes for the command.
var libraries = map[string]func(expression string) (next nexter, left string, err error){
	"robfig":      robfig,
	"supercronic": supercronic,
}

func robfig(expression string) (nexter, string, error) {
	schedule, err := cron.ParseStandard(expression)
	if err != nil {
		return nil, "", err
	}
	return schedule.Next, "", nil
}

func supercronic(expression string) (nexter, string, error) {
	logrus.SetLevel(logrus.ErrorLevel)
	table, err := crontab.ParseCrontab(strings.NewReader(expression + " true\n"))
	if err != nil {
		return nil, "", err
	}
	if len(table.Jobs) == 0 {
		return nil, "", fmt.Errorf("no job: the line is a setting")
	}
	job := table.Jobs[0]
	return job.Expression.Next, strings.TrimSpace(strings.TrimSuffix(job.Command, "true")), nil
}

// askAll prints the answers to all questions, in the form that README.md describes.
func askAll(read func(string) (nexter, string, error)) error {
	instants, err := Instants()
	if err != nil {
		return err
	}
	expressions, err := lines("expressions.txt")
	if err != nil {
		return err
	}
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for _, expression := range expressions {
		next, left, err := read(expression)
		if err != nil {
			fmt.Fprintf(out, "%s\trefused\t%s\n", expression, oneLine(err.Error()))
			continue
		}
		fmt.Fprintf(out, "%s\tnext\t", expression)
		for _, instant := range instants {
			answer := next(instant.At)
			if answer.IsZero() {
				fmt.Fprint(out, "-1 ")
			} else {
				fmt.Fprint(out, int(answer.Sub(instant.At).Seconds()), " ")
			}
		}
		fmt.Fprintf(out, "\t%s\n", left)
	}
	return nil
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
