package runfile

import (
	"errors"
	"os"
	"slices"
	"sync"

	"sched/schedule/outcome"
	"sched/schedule/statedir"
)

// A Surveyor reads the files of the runs in a state folder. One that is asked again looks only at those of runs that had not ended, and reads
// only what has changed since: which run lives is found out anew each time. Nil keeps nothing. Its methods may be called from several goroutines.
type Surveyor struct {
	mu    sync.Mutex
	known map[string]map[string]*surveyed // by folder and run

	whole *Surveyor       // of one for a single answer: the one that it was made of
	once  map[string]runs // and what it has read, by folder
}

// runs are what a survey found.
type runs struct {
	live, lost []State
	ended      []outcome.Record
	err        error
}

// Once returns a Surveyor for a single answer, which reads each folder once: what is asked of it later is about the same moment.
func (s *Surveyor) Once() *Surveyor { return &Surveyor{whole: s, once: map[string]runs{}} }

// surveyed is what was read of a file, and what the file looked like before that. Files are only appended to, so one that has changed has
// another size. It is shared, and not changed any more.
type surveyed struct {
	state State
	size  int64 // of the part that is about the run
	info  os.FileInfo
}

// largestKept bounds what a Surveyor keeps of a folder, in bytes of the files that it was read from.
const largestKept = 8 << 20

// Survey is that of a Surveyor that keeps nothing.
func Survey(dir string) (live, lost []State, ended []outcome.Record, err error) {
	return (*Surveyor)(nil).Survey(dir)
}

// Survey reads the files of the runs in a state folder, oldest first: those that live or wait for their turn or for a deferred retry, those
// that are lost, and the records of those that have ended. It changes nothing. What it returns is shared: it must not be changed.
func (s *Surveyor) Survey(dir string) (live, lost []State, ended []outcome.Record, err error) {
	if s == nil || s.once == nil {
		return s.survey(dir)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.once[dir]
	if !ok {
		r.live, r.lost, r.ended, r.err = s.whole.survey(dir)
		s.once[dir] = r
	}
	return slices.Clone(r.live), slices.Clone(r.lost), slices.Clone(r.ended), r.err
}

func (s *Surveyor) survey(dir string) (live, lost []State, ended []outcome.Record, err error) {
	ids, err := List(dir)
	was, is, size := s.of(dir), make(map[string]*surveyed, len(ids)), int64(0)
	ended = make([]outcome.Record, 0, len(was))
	for _, id := range ids {
		one, alive, rerr := survey(dir, id, was[id])
		switch {
		case errors.Is(rerr, os.ErrNotExist):
			continue
		case errors.Is(rerr, ErrUnreadable): // the next tick says so
			continue
		case rerr != nil:
			err = rerr
			continue
		case one.state.End != nil:
			ended = append(ended, *one.state.End)
		case alive, one.state.Waits():
			live = append(live, one.state)
		default:
			lost = append(lost, one.state)
		}
		if size += one.size; s != nil && size <= largestKept {
			is[id] = one
		}
	}
	s.keep(dir, is)
	return live, lost, ended, err
}

func (s *Surveyor) of(dir string) map[string]*surveyed {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known[dir]
}

func (s *Surveyor) keep(dir string, known map[string]*surveyed) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		s.known = map[string]map[string]*surveyed{}
	}
	s.known[dir] = known
}

// survey reads the file of a run, where it is not as it was; nil is for one that was not read yet.
func survey(dir, id string, was *surveyed) (is *surveyed, alive bool, err error) {
	if was != nil && was.state.End != nil { // nobody holds a lock that would matter, and the end is the last that is written for a run
		return was, false, nil
	}
	file, err := statedir.OpenPlain(Path(dir, id), os.O_RDONLY)
	if err != nil {
		return nil, false, err
	}
	defer file.Close()
	alive = statedir.Held(file)
	info, err := file.Stat() // before it is read, and after the lock was: who lets go of it has written before
	if err != nil {
		return nil, false, err
	}
	if is = was; !was.looksLike(info) {
		text, err := statedir.ReadAll(file)
		if err != nil {
			return nil, false, err
		}
		is = &surveyed{info: info, size: int64(len(text))}
		if is.state, err = parseText(text, file.Name()); err != nil {
			return nil, false, err
		}
		is.state.clip()
	}
	return is, alive || is.state.supervised(dir), nil
}

func (s *surveyed) looksLike(info os.FileInfo) bool {
	return s != nil && s.info.Size() == info.Size() && s.info.ModTime().Equal(info.ModTime()) && os.SameFile(s.info, info)
}

// clip has whoever appends to the lists of a state get a copy.
func (s *State) clip() {
	s.Begin.Notes, s.Notes = slices.Clip(s.Begin.Notes), slices.Clip(s.Notes)
	for _, r := range []*outcome.Record{s.Result, s.End} {
		if r != nil {
			r.Notes = slices.Clip(r.Notes)
		}
	}
}
