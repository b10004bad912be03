package yamldoc

import (
	"bytes"
	"fmt"
)

// An archive is the texts of several files, each after a line with its name and length. The archive
// of one file is YAML.
const (
	archiveHeader = "# file %q, %d bytes\n"
	archiveStart  = `# file "`
)

// Pack returns the archive of the sources.
func Pack(sources []*Source) []byte {
	var b bytes.Buffer
	for _, src := range sources {
		fmt.Fprintf(&b, archiveHeader, src.Name, len(src.Data))
		b.Write(src.Data)
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// IsArchive reports whether the text begins as an archive does.
func IsArchive(text []byte) bool { return bytes.HasPrefix(text, []byte(archiveStart)) }

// Unpack returns the sources of an archive, at least one. The error says where it is damaged.
func Unpack(archive []byte) (sources []*Source, err error) {
	for len(archive) > 0 || len(sources) == 0 {
		header, rest, _ := bytes.Cut(archive, []byte("\n"))
		var name string
		var size int
		if _, err := fmt.Sscanf(string(header)+"\n", archiveHeader, &name, &size); err != nil {
			return nil, fmt.Errorf("file %d has no header", len(sources)+1)
		}
		if size < 0 || size >= len(rest) || rest[size] != '\n' {
			return nil, fmt.Errorf("%s: its text is not %d bytes long", name, size)
		}
		sources = append(sources, &Source{Name: name, Data: rest[:size]})
		archive = rest[size+1:]
	}
	return sources, nil
}
