// Command forks starts a command a number of times at once, and waits for all of them. It shows
// what that costs a Go program that does nothing else.
//
//	forks 100 'sleep 2'
package main

import (
	"log"
	"os"
	"strconv"
)

func main() {
	n, err := strconv.Atoi(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		log.Fatal(err)
	}
	var all []*os.Process
	for range n {
		p, err := os.StartProcess("/bin/sh", []string{"sh", "-c", os.Args[2]},
			&os.ProcAttr{Files: []*os.File{null, null, null}})
		if err != nil {
			log.Fatal(err)
		}
		all = append(all, p)
	}
	for _, p := range all {
		p.Wait()
	}
}
