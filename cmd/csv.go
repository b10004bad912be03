package cmd

import (
	"encoding/csv"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// printCSV prints rows, a slice of the structs that --json prints, under a header line of the same
// names (RFC 4180). What cannot be written exitOfResults reports. What is null there is empty here, and a list is joined with "; ".
func (c *console) printCSV(rows any) error {
	w := csv.NewWriter(c.out)
	w.UseCRLF = true
	all := reflect.ValueOf(rows)
	kind := all.Type().Elem()
	var header []string
	var columns []int
	for i := range kind.NumField() {
		if name, _, _ := strings.Cut(kind.Field(i).Tag.Get("json"), ","); name != "" && name != "-" {
			header, columns = append(header, name), append(columns, i)
		}
	}
	w.Write(header) // the writer keeps its first error until the end
	for i := range all.Len() {
		var cells []string
		for _, j := range columns {
			cells = append(cells, cell(all.Index(i).Field(j)))
		}
		w.Write(cells)
	}
	w.Flush()
	return nil
}

func cell(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return ""
		}
		return cell(v.Elem())
	case reflect.Float64:
		return strconv.FormatFloat(v.Float(), 'f', -1, 64)
	case reflect.Slice:
		var parts []string
		for i := range v.Len() {
			parts = append(parts, cell(v.Index(i)))
		}
		return strings.Join(parts, "; ")
	}
	return fmt.Sprint(v.Interface())
}
