package machine

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"
)

// maxRead is the largest file that is read, in bytes.
const maxRead = 4 << 20

// maxNames is how many names a folder has at most that is read.
const maxNames = 10_000

// maxLinks is how many links in a row are followed.
const maxLinks = 8

// files reads below a folder and never leaves it: the whole machine, or the home of a user.
// Nothing that another user puts there makes it wait, or read what that user may not read:
//
//   - A link of the machine is followed only in a folder that root alone may write, a link in a home
//     only inside of that home.
//   - Only a plain file is read, of at most maxRead bytes.
type files struct {
	root  *os.Root
	home  string // "" for the machine
	owner int    // of folders of the machine in which links are followed
}

func openFiles(dir, home string, owner int) (*files, error) {
	root, err := os.OpenRoot(dir)
	return &files{root, home, owner}, err
}

// A file is what stands at a path, and who may change it.
type file struct {
	text      string
	mode      fs.FileMode
	owner     int
	changed   time.Time
	links     uint64 // the names that it has: hard links
	linkOwner int    // of the link at the path; -1 if the path is no link
	link      string // where the link at the path leads
	end       string // the path without links at its end
}

// look returns what stands at an absolute path, without its text.
func (f *files) look(name string) (file, error) {
	found := file{linkOwner: -1, end: name}
	for range maxLinks {
		info, err := f.root.Lstat(relative(found.end))
		if err != nil {
			return found, err
		}
		found.mode, found.changed = info.Mode(), info.ModTime()
		found.owner, found.links = ownerOf(info), linksOf(info)
		if info.Mode()&fs.ModeSymlink == 0 {
			return found, nil
		}
		target, err := f.root.Readlink(relative(found.end))
		if err != nil {
			return found, err
		}
		if found.linkOwner < 0 {
			found.linkOwner, found.link = found.owner, target
		}
		if found.end, err = f.follow(found.end, target); err != nil {
			return found, err
		}
	}
	return found, errors.New("its links lead nowhere")
}

// follow returns the path to which a link leads.
func (f *files) follow(link, target string) (end string, err error) {
	folder, err := f.root.Lstat(relative(path.Dir(link)))
	switch inHome, isInHome := strings.CutPrefix(target, f.home+"/"); {
	case err != nil:
		return link, err
	case f.home == "" && (folder.Mode()&0o022 != 0 || ownerOf(folder) != f.owner):
		return link, errors.New("it is a link in a folder that others may write")
	case !path.IsAbs(target):
		return path.Join(path.Dir(link), target), nil
	case f.home != "" && !isInHome:
		return link, errors.New("it is a link out of the home")
	default:
		return "/" + inHome, nil
	}
}

// read returns the file at an absolute path, with its text.
func (f *files) read(name string) (file, error) {
	found, err := f.look(name)
	if err != nil {
		return found, err
	}
	if !found.mode.IsRegular() {
		return found, errors.New("it is no plain file")
	}
	// Somebody may put a named pipe there meanwhile: without O_NONBLOCK we would wait for ever.
	opened, err := f.root.OpenFile(relative(found.end), os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return found, err
	}
	defer opened.Close()
	info, err := opened.Stat()
	if err != nil || !info.Mode().IsRegular() || ownerOf(info) != found.owner {
		return found, errors.New("somebody changes it at this moment")
	}
	text, err := io.ReadAll(io.LimitReader(opened, maxRead+1))
	if len(text) > maxRead {
		return found, fmt.Errorf("it has more than %d MiB", maxRead>>20)
	}
	found.text = string(text)
	return found, err
}

// names returns the names in a folder, in order. A folder that is not there has no names.
func (f *files) names(dir string) ([]string, error) {
	found, err := f.look(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !found.mode.IsDir() {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	opened, err := f.root.OpenFile(relative(found.end), os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	names, err := opened.Readdirnames(maxNames + 1)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if slices.Sort(names); len(names) > maxNames {
		return nil, fmt.Errorf("it has more than %d names", maxNames)
	}
	return names, err
}

// has reports whether something stands at a path, as far as this user may see.
func (f *files) has(name string) bool {
	_, err := f.look(name)
	return !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR)
}

// relative is the path as os.Root takes it.
func relative(name string) string {
	if name = strings.TrimLeft(path.Clean(name), "/"); name != "" {
		return name
	}
	return "."
}

func ownerOf(info fs.FileInfo) int {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(stat.Uid)
	}
	return -1
}

func linksOf(info fs.FileInfo) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(stat.Nlink)
	}
	return 1
}
