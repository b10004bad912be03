package view

import "bytes"

// A Hit is a line of a log that fits a search.
type Hit struct {
	Offset int64
	Line   int // from 1
	Text   string
}

// Searched is how many bytes of a log Search reads at most.
const Searched = 16 << 20

// Search returns the first lines, at most so many, of what a run of this machine printed that fit;
// more says that there are others. It reads Searched bytes at most. A line that is longer than a
// part of the log is judged in parts.
func (s Source) Search(r Run, most int, fits func(line []byte) bool) (hits []Hit, more bool, err error) {
	const part = 1 << 20
	line := 1
	for at := int64(0); at < Searched; {
		log, err := s.Log(r, false, at, 0, part)
		if err != nil || len(log.Text) == 0 {
			return hits, false, err
		}
		text := log.Text
		if end := bytes.LastIndexByte(text, '\n'); end >= 0 && log.Offset+int64(len(text)) < log.Size {
			text = text[:end+1] // the next part begins with a line
		}
		at = log.Offset
		for one := range bytes.Lines(text) {
			if fits(one) {
				if len(hits) == most {
					return hits, true, nil
				}
				hits = append(hits, Hit{at, line, string(bytes.TrimRight(one, "\r\n"))})
			}
			at += int64(len(one))
			line++
		}
	}
	return hits, false, nil
}
