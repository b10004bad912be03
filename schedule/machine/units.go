package machine

import (
	"maps"
	"path"
	"slices"
	"strings"

	"sched/schedule/humanize"
)

// This file reads the units of systemd as systemd.unit(5) says: a unit of a folder hides a unit of
// the same name in later folders, and drop-ins of all folders are read after it.

// A unitFolder is a folder with units.
type unitFolder struct {
	files *files
	path  string
}

// units are the folders in which one manager of systemd looks, the first one first.
type units struct {
	survey  *survey
	folders []unitFolder
	listed  [][]string // the names in each folder
}

func newUnits(s *survey, folders []unitFolder) *units {
	u := &units{survey: s, folders: folders}
	for _, folder := range folders {
		names, err := folder.files.names(folder.path)
		s.unread(folder.files.home+folder.path, err)
		u.listed = append(u.listed, names)
	}
	return u
}

// foldersOf returns folders of the machine. /lib counts if it is not a link to /usr/lib.
func foldersOf(f *files, paths string) (folders []unitFolder) {
	lib, _ := f.look("/lib")
	for _, dir := range strings.Fields(paths) {
		if lib.linkOwner < 0 || !strings.HasPrefix(dir, "/lib/") {
			folders = append(folders, unitFolder{f, dir})
		}
	}
	return folders
}

// A unit is what a unit and its drop-ins say.
type unit struct {
	path   string              // of its file; "" if there is no such unit
	folder unitFolder          // of its file
	values map[string][]string // by section and key: Timer.OnCalendar; with the names in place of specifiers
	texts  map[string][]string // the values as they are written
	masked bool
	alias  string // the unit of which this is another name
}

// last returns the value of a key that has one value: the last one counts.
func (u unit) last(key string) string {
	if values := u.values[key]; len(values) > 0 {
		return values[len(values)-1]
	}
	return ""
}

// isTrue reports whether a key is set to yes.
func (u unit) isTrue(key string) bool {
	return slices.Contains([]string{"1", "yes", "y", "true", "t", "on"}, strings.ToLower(u.last(key)))
}

// load reads a unit. The instance of a template has the file of the template.
func (u *units) load(name string) unit {
	loaded := unit{values: map[string][]string{}}
	kind := path.Ext(name)
	base, instance, _ := strings.Cut(strings.TrimSuffix(name, kind), "@")
	template := name
	if instance != "" {
		template = base + "@" + kind
	}
	for _, candidate := range slices.Compact([]string{name, template}) {
		has := func(names []string) bool { return slices.Contains(names, candidate) }
		if i := slices.IndexFunc(u.listed, has); i >= 0 {
			loaded.folder, loaded.path = u.folders[i], path.Join(u.folders[i].path, candidate)
			break
		}
	}
	if loaded.path == "" {
		return loaded
	}
	found, err := loaded.folder.files.read(loaded.path)
	loaded.masked = found.link == "/dev/null" || err == nil && strings.TrimSpace(found.text) == ""
	if loaded.masked {
		return loaded
	}
	if target := path.Base(found.link); found.linkOwner >= 0 && target != name && target != template {
		loaded.alias = target
	}
	u.survey.unread(loaded.folder.files.home+loaded.path, err)
	readUnit(found.text, loaded.values)
	for _, dropIn := range u.dropIns(slices.Compact([]string{name, template}), base, kind) {
		found, err := dropIn.files.read(dropIn.path)
		if found.link != "/dev/null" {
			u.survey.unread(dropIn.files.home+dropIn.path, err)
			readUnit(found.text, loaded.values)
		}
	}
	expand := strings.NewReplacer("%%", "%", "%i", instance, "%I", strings.ReplaceAll(instance, "-", "/"), "%n", name,
		"%N", strings.TrimSuffix(name, kind), "%p", base)
	loaded.texts = map[string][]string{}
	for key, values := range loaded.values {
		loaded.texts[key] = slices.Clone(values)
		for i, value := range values {
			loaded.values[key][i] = expand.Replace(value)
		}
	}
	return loaded
}

// dropIns returns the drop-ins of a unit in the order of their names. a-b.timer has those in
// a-b.timer.d, a-.timer.d and timer.d.
func (u *units) dropIns(names []string, base, kind string) (dropIns []unitFolder) {
	for end := strings.LastIndexByte(base, '-'); end > 0; end = strings.LastIndexByte(base[:end], '-') {
		names = append(names, base[:end+1]+kind)
	}
	names = append(names, kind[1:])
	byName := map[string]unitFolder{}
	for _, name := range names {
		for i, folder := range u.folders {
			if !slices.Contains(u.listed[i], name+".d") {
				continue
			}
			dir := path.Join(folder.path, name+".d")
			files, err := folder.files.names(dir)
			u.survey.unread(folder.files.home+dir, err)
			for _, file := range files {
				if _, hidden := byName[file]; !hidden && strings.HasSuffix(file, ".conf") {
					byName[file] = unitFolder{folder.files, path.Join(dir, file)}
				}
			}
		}
	}
	for _, file := range byName {
		dropIns = append(dropIns, file)
	}
	slices.SortFunc(dropIns, func(a, b unitFolder) int { return strings.Compare(path.Base(a.path), path.Base(b.path)) })
	return dropIns
}

// readUnit adds the values of a file. An empty value takes back those before it: of a time all
// times, of a condition all conditions.
func readUnit(text string, values map[string][]string) {
	section := ""
	text = continued().ReplaceAllString(text, " ")
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		key, value, ok := strings.Cut(line, "=")
		switch {
		case strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";"):
		case strings.HasPrefix(line, "["):
			section = strings.Trim(line, "[]")
		case ok:
			key, value = section+"."+strings.TrimSpace(key), strings.TrimSpace(value)
			if value == "" {
				maps.DeleteFunc(values, func(other string, _ []string) bool { return takesBack(key, other) })
			} else {
				values[key] = append(values[key], value)
			}
		}
	}
}

func takesBack(key, other string) bool {
	if strings.HasSuffix(key, "Change") { // OnClockChange= is no time
		return key == other
	}
	for _, start := range []string{"Timer.On", "Unit.Condition", "Unit.Assert"} {
		if strings.HasPrefix(key, start) && strings.HasPrefix(other, start) {
			return !strings.HasSuffix(other, "Change")
		}
	}
	return key == other
}

var continued = humanize.Pattern(`\\\n([ \t]*[#;].*\n)*`)

// timers returns the names of all timers, and which of them something starts: a folder .wants or
// .requires has them, or they were made while systemd runs.
func (u *units) timers() (names []string, wanted map[string]bool) {
	wanted = map[string]bool{}
	for i, folder := range u.folders {
		for _, name := range u.listed[i] {
			switch path.Ext(name) {
			case ".timer":
				names = append(names, name)
				wanted[name] = wanted[name] || strings.HasPrefix(folder.path, "/run/systemd/transient")
			case ".wants", ".requires":
				linked, err := folder.files.names(path.Join(folder.path, name))
				u.survey.unread(folder.files.home+path.Join(folder.path, name), err)
				for _, timer := range linked {
					if path.Ext(timer) == ".timer" {
						names, wanted[timer] = append(names, timer), true
					}
				}
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), wanted
}
