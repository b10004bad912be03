// Command loop runs `sh -c true` a hundred times, one after another. It shows what the work itself
// costs.
package main

import (
	"log"
	"os/exec"
)

func main() {
	for range 100 {
		if err := exec.Command("/bin/sh", "-c", "true").Run(); err != nil {
			log.Fatal(err)
		}
	}
}
