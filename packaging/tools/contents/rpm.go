package main

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/cavaliergopher/cpio"
)

// The tags of a header that say what files there are (rpmtag.h).
const (
	fileModes  = 1030 // int16
	fileFlags  = 1037 // int32; bit 0: config, bit 4: noreplace
	dirIndexes = 1116 // int32
	baseNames  = 1117 // texts
	dirNames   = 1118 // texts
)

const lead = 96 // bytes

// A header is the index of an rpm: where the values of each tag begin, and how many there are.
type header struct {
	data []byte
	at   map[int]int
	n    map[int]int
}

// readRPM lists what the header says, and fails when the payload holds anything else.
func readRPM(data []byte) ([]string, error) {
	if len(data) < lead {
		return nil, errors.New("too short for an rpm")
	}
	_, size, err := readHeader(data[lead:])
	if err != nil {
		return nil, fmt.Errorf("the signature: %w", err)
	}
	rest := data[lead+(size+7)/8*8:]
	h, size, err := readHeader(rest)
	if err != nil {
		return nil, err
	}
	inside, err := payload(rest[size:])
	if err != nil {
		return nil, fmt.Errorf("the payload: %w", err)
	}
	var lines []string
	for i := range h.n[baseNames] {
		name := h.text(dirNames, h.int32(dirIndexes, i)) + h.text(baseNames, i)
		mode := int64(binary.BigEndian.Uint16(h.data[h.at[fileModes]+2*i:]))
		if mode&0o170000 != 0o100000 {
			continue
		}
		if !inside[name] {
			return nil, fmt.Errorf("%s is not in the payload", name)
		}
		mark := ""
		if h.int32(fileFlags, i)&0x11 == 0x11 {
			mark = "config"
		}
		lines = append(lines, line(mode, name, mark))
	}
	if len(lines) != len(inside) {
		return nil, fmt.Errorf("the header has %d files and the payload %d", len(lines), len(inside))
	}
	return lines, nil
}

// readHeader returns a header and its size in bytes.
func readHeader(data []byte) (header, int, error) {
	if len(data) < 16 || !bytes.Equal(data[:3], []byte{0x8e, 0xad, 0xe8}) {
		return header{}, 0, errors.New("no header of an rpm")
	}
	entries, store := int(binary.BigEndian.Uint32(data[8:])), int(binary.BigEndian.Uint32(data[12:]))
	size := 16 + 16*entries + store
	if size > len(data) {
		return header{}, 0, errors.New("a header that is cut off")
	}
	h := header{data[16+16*entries : size], map[int]int{}, map[int]int{}}
	for i := range entries {
		entry := data[16+16*i:]
		tag := int(binary.BigEndian.Uint32(entry))
		h.at[tag], h.n[tag] = int(binary.BigEndian.Uint32(entry[8:])), int(binary.BigEndian.Uint32(entry[12:]))
	}
	return h, size, nil
}

func (h header) int32(tag, i int) int {
	return int(binary.BigEndian.Uint32(h.data[h.at[tag]+4*i:]))
}

// text returns the i-th text of a tag; each ends with a null.
func (h header) text(tag, i int) string {
	rest := h.data[h.at[tag]:]
	for range i {
		rest = rest[bytes.IndexByte(rest, 0)+1:]
	}
	return string(rest[:bytes.IndexByte(rest, 0)])
}

// payload returns the names of the files in it.
func payload(data []byte) (map[string]bool, error) {
	unpacked, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for r := cpio.NewReader(unpacked); ; {
		f, err := r.Next()
		if err == io.EOF {
			return names, nil
		}
		if err != nil {
			return nil, err
		}
		if f.Mode.IsRegular() {
			names["/"+strings.TrimPrefix(strings.TrimPrefix(f.Name, "."), "/")] = true
		}
	}
}
