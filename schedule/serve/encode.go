package serve

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strings"
)

// leastCompressed is the length of the shortest text that is worth the time to compress it.
const leastCompressed = 1 << 10

// encode gives an answer its ETag, which begins with the ETag of the file of a task that may be
// written. It leaves out what the client has already (If-None-Match), and
// compresses what is long, for a client that asks for it.
func (r *Visit) encode(h http.Header, c *content) {
	tag, file := tagOf(c.text), h.Get("ETag")
	switch {
	case file != "" && c.kind == yamlText:
		tag = file
	case file != "": // the answer has more than the file: what ran
		tag = strings.TrimSuffix(file, `"`) + "." + strings.TrimPrefix(tag, `"`)
	}
	h.Set("ETag", tag)
	h.Set("Vary", "Accept-Encoding")
	if anyTag(r.Header.Get("If-None-Match"), tag) {
		c.status, c.text = http.StatusNotModified, nil
		return
	}
	if len(c.text) < leastCompressed || !takesGzip(r.Header.Get("Accept-Encoding")) {
		return
	}
	var short bytes.Buffer
	w, _ := gzip.NewWriterLevel(&short, gzip.BestSpeed)
	w.Write(c.text) // into memory: it cannot fail
	w.Close()
	c.text = short.Bytes()
	h.Set("Content-Encoding", "gzip")
	h.Set("ETag", "W/"+tag) // of other bytes with the same content
}

// anyTag reports whether a list of ETags, as If-None-Match has it, has the tag.
func anyTag(list, tag string) bool {
	for one := range strings.SplitSeq(list, ",") {
		if one = strings.TrimSpace(one); one == "*" || strings.TrimPrefix(one, "W/") == tag {
			return true
		}
	}
	return false
}

// fileTag is the part of an ETag that is about the file of a task.
func fileTag(tag string) string {
	tag = strings.TrimPrefix(tag, "W/")
	if file, _, long := strings.Cut(tag, "."); long {
		return file + `"`
	}
	return tag
}

// takesGzip reads the header Accept-Encoding (RFC 9110, 12.5.3). Only a client that names gzip gets
// it.
func takesGzip(accepts string) bool {
	for one := range strings.SplitSeq(accepts, ",") {
		name, weight, _ := strings.Cut(strings.ReplaceAll(one, " ", ""), ";")
		if strings.EqualFold(name, "gzip") {
			return strings.Trim(strings.ToLower(weight), "q=0.") != "" || weight == ""
		}
	}
	return false
}
