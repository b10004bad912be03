package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
)

// user is as whom the image runs: nobody who exists elsewhere.
const user = 65532

// crontabState is where the runs of /etc/crontab are kept.
const crontabState = "var/lib/sched"

// A tree is a tar that is being written. All times in it are the same.
type tree struct {
	*tar.Writer
	o    options
	made map[string]bool
	err  error
}

// rootfs returns the tar of the root file system: sched, zone data, certificates, a user, and with
// a busybox its applets.
func rootfs(o options) ([]byte, error) {
	var b bytes.Buffer
	t := &tree{Writer: tar.NewWriter(&b), o: o, made: map[string]bool{}}
	t.file("etc/passwd", 0o644, []byte("root:x:0:0:root:/root:/bin/sh\nsched:x:65532:65532:sched:/srv:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n"))
	t.file("etc/group", 0o644, []byte("root:x:0:\nsched:x:65532:\nnobody:x:65534:\n"))
	t.copy("etc/ssl/certs/ca-certificates.crt", 0o644, o.certificates)
	t.copy("usr/local/bin/sched", 0o755, o.binary)
	t.zones()
	if o.busybox != "" {
		t.shell()
	}
	t.folder("tmp", 0o1777, 0)
	t.folder("srv", 0o755, user)
	if o.crontab {
		t.above(crontabState)
		t.folder(crontabState, 0o700, user)
	}
	if t.err == nil {
		t.err = t.Close()
	}
	return b.Bytes(), t.err
}

// zones unpacks the zone data of Go, where Go and a C library look for it.
func (t *tree) zones() {
	archive, err := zip.OpenReader(t.o.zones)
	if t.fails(err) {
		return
	}
	defer archive.Close()
	for _, entry := range archive.File {
		if strings.HasSuffix(entry.Name, "/") {
			continue
		}
		r, err := entry.Open()
		if t.fails(err) {
			return
		}
		data, err := io.ReadAll(r)
		if t.fails(err) {
			return
		}
		t.file("usr/share/zoneinfo/"+entry.Name, 0o644, data)
	}
}

// shell adds busybox, and a link to it for each program that it is.
func (t *tree) shell() {
	t.copy("bin/busybox", 0o755, t.o.busybox)
	out, err := exec.Command(t.o.busybox, "--list").Output()
	if t.fails(err) {
		return
	}
	names := strings.Fields(string(out))
	slices.Sort(names)
	for _, name := range names {
		if name != "busybox" {
			t.write(&tar.Header{Typeflag: tar.TypeSymlink, Name: "bin/" + name, Linkname: "busybox", Mode: 0o777}, nil)
		}
	}
}

// copy adds a file of this machine.
func (t *tree) copy(name string, mode int64, from string) {
	data, err := os.ReadFile(from)
	if !t.fails(err) {
		t.file(name, mode, data)
	}
}

// file adds a file, and the folders above it.
func (t *tree) file(name string, mode int64, data []byte) {
	t.above(name)
	t.write(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: int64(len(data))}, data)
}

func (t *tree) above(name string) {
	if folder := path.Dir(name); folder != "." && !t.made[folder] {
		t.above(folder)
		t.folder(folder, 0o755, 0)
	}
}

func (t *tree) folder(name string, mode int64, owner int) {
	t.made[name] = true
	t.write(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: mode, Uid: owner, Gid: owner}, nil)
}

func (t *tree) write(h *tar.Header, data []byte) {
	if t.err != nil {
		return
	}
	h.ModTime, h.Format = t.o.time(), tar.FormatPAX
	if !t.fails(t.WriteHeader(h)) {
		_, err := t.Write(data)
		t.fails(err)
	}
}

// fails keeps the first error.
func (t *tree) fails(err error) bool {
	if t.err == nil {
		t.err = err
	}
	return t.err != nil
}
