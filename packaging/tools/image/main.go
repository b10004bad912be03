// Image writes an OCI image of sched as an archive of an OCI layout, and its root file system as a
// tar. It needs no container engine, and the same input makes the same bytes.
//
//	image -binary sched -arch amd64 -version 0.2.0 -epoch 1764000000 -certificates FILE -zones ZIP [-busybox FILE] [-crontab] -rootfs FILE -o FILE
package main

import (
	"flag"
	"fmt"
	"os"
	"time"
)

type options struct {
	binary, arch, version, certificates, zones, busybox, rootfs, output string
	epoch                                                               int64
	crontab                                                             bool
}

func main() {
	var o options
	flag.StringVar(&o.binary, "binary", "", "sched for linux, static")
	flag.StringVar(&o.arch, "arch", "", "of the binary, as Go calls it")
	flag.StringVar(&o.version, "version", "", "of sched")
	flag.StringVar(&o.certificates, "certificates", "", "what TLS trusts, in PEM")
	flag.StringVar(&o.zones, "zones", "", "zoneinfo.zip of Go")
	flag.StringVar(&o.busybox, "busybox", "", "a static busybox: for an image with a shell")
	flag.BoolVar(&o.crontab, "crontab", false, "for an image that runs /etc/crontab")
	flag.StringVar(&o.rootfs, "rootfs", "", "where the root file system goes, as a tar")
	flag.StringVar(&o.output, "o", "", "where the image goes")
	flag.Int64Var(&o.epoch, "epoch", 0, "the time of all files, in seconds since 1970")
	flag.Parse()
	if err := build(o); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func build(o options) error {
	layer, err := rootfs(o)
	if err != nil {
		return err
	}
	if err := os.WriteFile(o.rootfs, layer, 0o644); err != nil {
		return err
	}
	image, err := layout(o, layer)
	if err != nil {
		return err
	}
	return os.WriteFile(o.output, image, 0o644)
}

func (o options) time() time.Time { return time.Unix(o.epoch, 0).UTC() }
