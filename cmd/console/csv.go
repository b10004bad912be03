package console

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"sched/schedule"
)

// csvCell returns a value as one cell of CSV.
func csvCell(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return ""
		}
		return csvCell(v.Elem())
	case reflect.Float64:
		return strconv.FormatFloat(v.Float(), 'f', -1, 64)
	case reflect.Map:
		values, _ := v.Interface().(map[string]string)
		return csvCell(reflect.ValueOf(schedule.Pairs(values)))
	case reflect.Slice:
		var parts []string
		for i := range v.Len() {
			parts = append(parts, csvCell(v.Index(i)))
		}
		return strings.Join(parts, "; ")
	}
	return fmt.Sprint(v.Interface())
}
