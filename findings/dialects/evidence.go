package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Evidence is what one program answered: one file of schedule/dialect/testdata/evidence.
type Evidence struct {
	Dialect  string    `json:"dialect"`
	Program  string    `json:"program"`
	Version  string    `json:"version"`
	Date     string    `json:"date"`
	TZData   string    `json:"tzdata"`
	Instants []Instant `json:"-"` // one a line, as the rows
	Rows     []Row     `json:"-"`
}

// An Instant is a moment after which all expressions are asked for their next time.
type Instant struct {
	Zone string    `json:"zone"`
	At   time.Time `json:"at"`
}

// A Row is the answer to one expression: refused, or next.
type Row struct {
	Expr    string `json:"expr"`
	Refused string `json:"refused,omitempty"`
	Left    string `json:"left,omitempty"` // the end of expr, which the program took for the command
	Next    []int  `json:"next,omitempty"` // seconds after each instant, or -1: never
}

// Instants reads instants.txt.
func Instants() ([]Instant, error) {
	rows, err := lines("instants.txt")
	if err != nil {
		return nil, err
	}
	var instants []Instant
	for _, row := range rows {
		zone, at, _ := strings.Cut(row, " ")
		location, err := time.LoadLocation(zone)
		if err != nil {
			return nil, err
		}
		parsed, err := time.Parse(time.RFC3339, at)
		if err != nil {
			return nil, err
		}
		instant := Instant{Zone: zone, At: parsed.In(location)}
		if back := instant.At.Format(time.RFC3339); back != at {
			return nil, fmt.Errorf("%s is %s in %s", at, back, zone)
		}
		instants = append(instants, instant)
	}
	return instants, nil
}

// writeQuestions prints the instants for drivers that cannot read RFC 3339: seconds, and the zone.
func writeQuestions() error {
	instants, err := Instants()
	for _, instant := range instants {
		fmt.Println(instant.At.Unix(), instant.Zone)
	}
	return err
}

// lines returns the lines of a file of this folder without its comments.
func lines(file string) ([]string, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var rows []string
	for line := range strings.Lines(string(content)) {
		if line = strings.TrimRight(line, "\n"); line != "" && !strings.HasPrefix(line, "# ") {
			rows = append(rows, line)
		}
	}
	return rows, nil
}

// record reads answers from standard input. It writes them to file, or fails if the file differs.
func record(write bool, file string, evidence Evidence) error {
	var err error
	if evidence.Instants, err = Instants(); err != nil {
		return err
	}
	evidence.Date = time.Now().UTC().Format(time.DateOnly)
	evidence.TZData = os.Getenv("TZDATA")
	scanner := bufio.NewScanner(os.Stdin)
	for scanner.Scan() {
		row, err := parseRow(scanner.Text(), len(evidence.Instants))
		if err != nil {
			return err
		}
		evidence.Rows = append(evidence.Rows, row)
	}
	if err := scanner.Err(); err != nil {
		return err
	}
	if len(evidence.Rows) == 0 {
		return fmt.Errorf("no answers")
	}
	if write {
		return os.WriteFile(file, evidence.encode(), 0o644)
	}
	return evidence.compare(file)
}

// parseRow reads EXPRESSION, "refused" and a reason, or EXPRESSION, "next", seconds, and the rest.
func parseRow(line string, instants int) (Row, error) {
	fields := strings.Split(line, "\t")
	if len(fields) < 3 {
		return Row{}, fmt.Errorf("no answer: %q", line)
	}
	row := Row{Expr: fields[0]}
	if fields[1] == "refused" {
		row.Refused = fields[2]
		return row, nil
	}
	for _, field := range strings.Fields(fields[2]) {
		seconds, err := strconv.Atoi(field)
		if err != nil {
			return Row{}, fmt.Errorf("%q: %w", line, err)
		}
		row.Next = append(row.Next, seconds)
	}
	if len(row.Next) != instants {
		return Row{}, fmt.Errorf("%q has %d answers to %d instants", row.Expr, len(row.Next), instants)
	}
	if len(fields) > 3 {
		row.Left = fields[3]
	}
	return row, nil
}

// encode writes JSON with one instant and one row a line.
func (e Evidence) encode() []byte {
	var out bytes.Buffer
	head, _ := json.Marshal(e)
	out.Write(bytes.TrimSuffix(head, []byte("}")))
	out.WriteString(",\n\"instants\":[\n")
	writeRows(&out, e.Instants)
	out.WriteString("],\n\"rows\":[\n")
	writeRows(&out, e.Rows)
	out.WriteString("]}\n")
	return out.Bytes()
}

func writeRows[R any](out *bytes.Buffer, rows []R) {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for i, row := range rows {
		_ = encoder.Encode(row)
		if i < len(rows)-1 {
			out.Truncate(out.Len() - 1)
			out.WriteString(",\n")
		}
	}
}

// compare fails unless the file has the same rows.
func (e Evidence) compare(file string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var before struct {
		Evidence
		Rows []Row `json:"rows"`
	}
	if err := json.Unmarshal(content, &before); err != nil {
		return err
	}
	known := map[string]Row{}
	for _, row := range before.Rows {
		known[row.Expr] = row
	}
	differ := 0
	for _, row := range e.Rows {
		if !reflect.DeepEqual(row, known[row.Expr]) {
			differ++
			fmt.Printf("%s\n  before %+v\n  now    %+v\n", row.Expr, known[row.Expr], row)
		}
	}
	if differ > 0 || len(e.Rows) != len(before.Rows) {
		return fmt.Errorf("%s: %d rows differ, %d rows before and %d now",
			e.Dialect, differ, len(before.Rows), len(e.Rows))
	}
	fmt.Printf("%s: %s %s answers %d expressions as on %s\n",
		e.Dialect, e.Program, e.Version, len(e.Rows), before.Date)
	return nil
}
