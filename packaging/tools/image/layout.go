package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"
)

// The documents are as the OCI image specification has them.
type (
	descriptor struct {
		MediaType   string            `json:"mediaType"`
		Digest      string            `json:"digest"`
		Size        int               `json:"size"`
		Platform    *platform         `json:"platform,omitempty"`
		Annotations map[string]string `json:"annotations,omitempty"`
	}
	platform struct {
		Architecture string `json:"architecture"`
		OS           string `json:"os"`
	}
	manifest struct {
		SchemaVersion int          `json:"schemaVersion"`
		MediaType     string       `json:"mediaType"`
		Config        descriptor   `json:"config"`
		Layers        []descriptor `json:"layers"`
	}
	index struct {
		SchemaVersion int          `json:"schemaVersion"`
		MediaType     string       `json:"mediaType"`
		Manifests     []descriptor `json:"manifests"`
	}
	image struct {
		Created time.Time `json:"created"`
		platform
		Config  settings `json:"config"`
		RootFS  layers   `json:"rootfs"`
		History []step   `json:"history"`
	}
	settings struct {
		User       string
		Env        []string
		Entrypoint []string
		Cmd        []string
		WorkingDir string
		Volumes    map[string]struct{}
		StopSignal string
		Labels     map[string]string
	}
	layers struct {
		Type    string   `json:"type"`
		DiffIDs []string `json:"diff_ids"`
	}
	step struct {
		Created   time.Time `json:"created"`
		CreatedBy string    `json:"created_by"`
	}
)

const media = "application/vnd.oci.image."

// layout returns the archive of an OCI layout with one image of one layer.
func layout(o options, layer []byte) ([]byte, error) {
	packed, err := compressed(layer)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	t := &tree{Writer: tar.NewWriter(&b), o: o, made: map[string]bool{}}
	config := t.blob(media+"config.v1+json", document(o.image(digest(layer))))
	list := []descriptor{t.blob(media+"layer.v1.tar+gzip", packed)}
	one := t.blob(media+"manifest.v1+json", document(manifest{2, media + "manifest.v1+json", config, list}))
	one.Platform = &platform{o.arch, "linux"}
	one.Annotations = map[string]string{"org.opencontainers.image.ref.name": o.tag()}
	t.file("index.json", 0o644, document(index{2, media + "index.v1+json", []descriptor{one}}))
	t.file("oci-layout", 0o644, []byte(`{"imageLayoutVersion":"1.0.0"}`))
	t.fails(t.Close())
	return b.Bytes(), t.err
}

// tag is the version, and what the image has that the one with sched alone lacks.
func (o options) tag() string {
	switch {
	case o.crontab:
		return o.version + "-crontab"
	case o.busybox != "":
		return o.version + "-shell"
	}
	return o.version
}

// image is what an engine is told: sched work as an ordinary user, of the schedule in /srv or of
// /etc/crontab.
func (o options) image(layer string) image {
	env, command, volume := []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/srv"}, []string{"work"}, "/srv/.sched"
	if o.crontab {
		env = append(env, "SCHED_CONFIG=/etc/crontab") // `docker exec NAME sched list` needs no -c
		command, volume = []string{"work", "--logs", "-c", "/etc/crontab"}, "/"+crontabState
	}
	return image{
		Created: o.time(), platform: platform{o.arch, "linux"},
		Config: settings{
			User: fmt.Sprintf("%d:%[1]d", user), Env: env,
			Entrypoint: []string{"/usr/local/bin/sched"}, Cmd: command, WorkingDir: "/srv",
			Volumes: map[string]struct{}{volume: {}}, StopSignal: "SIGTERM",
			Labels: map[string]string{"org.opencontainers.image.title": "sched",
				"org.opencontainers.image.version": o.version, "org.opencontainers.image.licenses": "MIT"},
		},
		RootFS:  layers{"layers", []string{layer}},
		History: []step{{o.time(), "packaging/tools/image"}},
	}
}

// blob adds what is called by its digest.
func (t *tree) blob(kind string, data []byte) descriptor {
	sum := digest(data)
	t.file("blobs/sha256/"+sum[len("sha256:"):], 0o644, data)
	return descriptor{MediaType: kind, Digest: sum, Size: len(data)}
}

func digest(data []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(data)) }

// document is JSON of types that are ours: it cannot fail.
func document(of any) []byte {
	data, err := json.Marshal(of)
	if err != nil {
		panic(err)
	}
	return data
}

func compressed(data []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	err = w.Close()
	return b.Bytes(), err
}
