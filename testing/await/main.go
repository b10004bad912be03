// Await is what the tasks of tests wait with: `await FILE` ends when the file exists. A loop of
// `sleep` in a shell starts fifty processes a second, which slows down the tests beside it, and
// goes on for good when the tests were killed.
package main

import (
	"os"
	"time"
)

// longest is how long a file is waited for, far longer than any test does.
const longest = 15 * time.Minute

func main() {
	for end := time.Now().Add(longest); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(os.Args[1]); err == nil {
			return
		}
	}
	os.Exit(1)
}
