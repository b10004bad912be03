package yamldoc

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"sched/schedule/humanize"
	"sched/schedule/statedir"
)

// MaxFileSize is the most bytes that a file may have, far beyond what people write.
const MaxFileSize = 16 << 20

// ErrUntrusted says that root does not read a file because another user can change it, or put
// another one in its place.
var ErrUntrusted = errors.New("another user than root can change the file")

// A Source is one file that was read.
type Source struct {
	Name string // as messages show it: relative to the folder of the document, absolute when it is elsewhere
	Data []byte // its text; nil when it could not be read
}

// Digest returns the SHA-256 of the names and texts of the sources, in hexadecimal.
func Digest(sources []*Source) string {
	h := sha256.New()
	for _, src := range sources {
		fmt.Fprintf(h, "%q %d\n", src.Name, len(src.Data))
		h.Write(src.Data)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// readFile returns the text of a file, or a problem. The error comes from the system or is
// ErrUntrusted, and only together with a problem.
func readFile(path string, root bool) ([]byte, *Problem, error) {
	if root {
		if problem, err := distrusted(path); problem != nil {
			return nil, problem, err
		}
	}
	// Without O_NONBLOCK a named pipe would stop us here for ever.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, unreadable(path, err), err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, unreadable(path, err), err
	}
	if problem, err := problemOfFile(path, info, root); problem != nil {
		return nil, problem, err
	}
	data := bytes.NewBuffer(make([]byte, 0, min(max(info.Size(), 0), MaxFileSize)+bytes.MinRead))
	if _, err := data.ReadFrom(io.LimitReader(f, MaxFileSize+1)); err != nil {
		return nil, unreadable(path, err), err
	}
	if data.Len() > MaxFileSize {
		return nil, &Problem{Text: fmt.Sprintf("the file is larger than %d MiB", MaxFileSize>>20)}, nil
	}
	return data.Bytes(), nil, nil
}

// distrusted returns why root should not even open the file at this path: to open a link of another
// user may start a device, and nobody can say what is read. A problem of the file itself comes
// first.
func distrusted(path string) (*Problem, error) {
	info, err := os.Stat(path)
	if err != nil {
		return unreadable(path, err), err
	}
	if problem, err := problemOfFile(path, info, true); problem != nil {
		return problem, err
	}
	return problemOfFolders(path)
}

// unreadable returns the problem of a file that the system does not let us read.
func unreadable(path string, err error) *Problem {
	if errors.Is(err, fs.ErrNotExist) {
		return &Problem{Text: "there is no file " + path}
	}
	return &Problem{Text: fmt.Sprintf("%s cannot be read: %v", path, humanize.WithoutPath(err))}
}

// problemOfFile returns why the user should not run commands that this file names, or nil. It does
// not look at the folders of the file.
func problemOfFile(path string, info fs.FileInfo, root bool) (*Problem, error) {
	if info.IsDir() {
		return &Problem{Text: path + " is a folder, not a file"}, nil
	}
	if !info.Mode().IsRegular() {
		return &Problem{Text: path + " is not a regular file"}, nil
	}
	if !root {
		return nil, nil
	}
	if info.Mode().Perm()&0o022 != 0 {
		return &Problem{
			Text: "others than its owner can write the file, and root would run what they write",
			Hint: "chmod go-w " + humanize.ShellWord(path),
		}, ErrUntrusted
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && stat.Uid != 0 {
		return &Problem{
			Text: fmt.Sprintf("the file belongs to another user (uid %d), and root would run what that user writes",
				stat.Uid),
			Hint: fmt.Sprintf("call it as that user, with sudo -u '#%d' in front; for a schedule of root: "+
				"chown root %s", stat.Uid, humanize.ShellWord(path)),
		}, ErrUntrusted
	}
	return nil, nil
}

// problemOfFolders returns why root should not trust the file at this path: another user can
// replace it or its folder.
func problemOfFolders(path string) (*Problem, error) {
	err := statedir.CheckAbove(path)
	if folder, ok := errors.AsType[*statedir.FolderError](err); ok {
		return &Problem{
			Text: folder.Error() + ", and root would run what is put there in place of this file",
			Hint: folder.Hint("schedule"),
		}, ErrUntrusted
	}
	if err != nil {
		return unreadable(path, err), err
	}
	return nil, nil
}

// archiveHeader is the line before each file in an archive, with its name and length.
const archiveHeader = "# file %q, %d bytes\n"

// Pack returns the archive of the sources: their texts, each after its header. The archive of one
// file is YAML.
func Pack(sources []*Source) []byte {
	var b bytes.Buffer
	for _, src := range sources {
		fmt.Fprintf(&b, archiveHeader, src.Name, len(src.Data))
		b.Write(src.Data)
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// Unpack returns the sources of an archive, at least one. The error names the place of the damage.
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
