// Dialects asks real cron programs when they would run, and writes down their answers.
// See README.md in this folder.
package main

import (
	"fmt"
	"os"
)

func main() {
	if err := command(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "dialects:", err)
		os.Exit(1)
	}
}

func command(args []string) error {
	if len(args) == 2 && args[0] == "ask" {
		ask, known := libraries[args[1]]
		if !known {
			return fmt.Errorf("no Go library %q", args[1])
		}
		return askAll(ask)
	}
	if len(args) == 1 && args[0] == "questions" {
		return writeQuestions()
	}
	if len(args) == 5 && (args[0] == "write" || args[0] == "compare") {
		return record(args[0] == "write", args[1], Evidence{Dialect: args[2], Program: args[3], Version: args[4]})
	}
	return fmt.Errorf("usage: dialects questions | ask NAME | write|compare FILE NAME PROGRAM VERSION <ANSWERS")
}
