// Contents prints the files of a package as `MODE PATH`, sorted, where no rpm and no apk is at
// hand. It reads .rpm, .apk, and a tar from stdin. After a file that an rpm keeps when the user has
// changed it stands `config`.
//
//	contents FILE
//	dpkg-deb --fsys-tarfile FILE | contents -
package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
)

func main() {
	if err := list(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "contents:", err)
		os.Exit(1)
	}
}

func list(args []string) error {
	if len(args) != 1 {
		return errors.New("usage: contents FILE|-")
	}
	lines, err := read(args[0])
	if err != nil {
		return err
	}
	slices.Sort(lines)
	_, err = fmt.Println(strings.Join(lines, "\n"))
	return err
}

func read(name string) ([]string, error) {
	if name == "-" {
		return files(os.Stdin)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	if path.Ext(name) == ".rpm" {
		return readRPM(data)
	}
	// the parts of an apk, one after another, are one tar
	unpacked, err := gzip.NewReader(strings.NewReader(string(data)))
	if err != nil {
		return nil, err
	}
	return files(unpacked)
}

// files lists a tar but for folders and for what tells apk about the package.
func files(from io.Reader) (lines []string, err error) {
	for r := tar.NewReader(from); ; {
		h, err := r.Next()
		if err == io.EOF {
			return lines, nil
		}
		if err != nil {
			return nil, err
		}
		if name := strings.TrimPrefix(h.Name, "./"); h.Typeflag == tar.TypeReg && !strings.HasPrefix(name, ".") {
			lines = append(lines, line(h.Mode, "/"+strings.TrimPrefix(name, "/"), ""))
		}
	}
}

func line(mode int64, name, mark string) string {
	return strings.TrimSpace(fmt.Sprintf("%04o %s %s", mode&0o7777, name, mark))
}
