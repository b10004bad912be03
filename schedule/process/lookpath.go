package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"sched/schedule/humanize"
)

// lookPath finds a program as execvp(3) would in the folder dir with the PATH of env. If env has
// two PATHs, the last one counts.
func lookPath(name, dir string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	path, _ := Lookup(env)("PATH")
	if file := FindProgram(name, path, dir); file != "" {
		return file, nil
	}
	return "", fmt.Errorf("%s: %w", name, errNotFound)
}

// errNotFound is the error of a program without a path that no folder of PATH has.
var errNotFound = errors.New("there is no such command in PATH")

// FindProgram returns the file of a program in the folders of a PATH. It returns "" if no folder
// has the program. A relative folder of PATH begins at the folder dir.
func FindProgram(name, path, dir string) string {
	for _, folder := range filepath.SplitList(path) {
		file := filepath.Join(folder, name)
		if !filepath.IsAbs(file) {
			file = filepath.Join(dir, file)
		}
		if info, err := os.Stat(file); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return file
		}
	}
	return ""
}

// folderError is the error of a command that has no folder to run in. It does not wrap err: a
// folder that does not exist is not a program that was not found (StartExitCode).
func folderError(dir string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the folder %s does not exist", dir)
	}
	return fmt.Errorf("the folder %s: %v", dir, humanize.WithoutPath(err))
}
