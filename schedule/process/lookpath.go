package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// errNotFound is the error of a program without a path that no folder of PATH has.
var errNotFound = errors.New("there is no such command in PATH")

// lookPath finds a program as execvp(3) would in the folder dir with the PATH of env; of two PATHs the last counts.
func lookPath(name, dir string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	var path string
	for _, pair := range env {
		if value, ok := strings.CutPrefix(pair, "PATH="); ok {
			path = value
		}
	}
	for _, place := range filepath.SplitList(path) {
		file := filepath.Join(place, name)
		if !filepath.IsAbs(place) {
			file = filepath.Join(dir, file)
		}
		if info, err := os.Stat(file); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return file, nil
		}
	}
	return "", fmt.Errorf("%s: %w", name, errNotFound)
}
