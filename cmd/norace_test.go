//go:build !race

package cmd_test

var raceFlags []string
