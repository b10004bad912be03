// Command sched runs the tasks of a schedule.yaml when they are due.
package main

import (
	"os"
	_ "time/tzdata" // for machines without zone files

	"sched/cmd"
)

func main() { os.Exit(cmd.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
