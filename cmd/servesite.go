package cmd

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"sched/schedule"
	"sched/schedule/serve"
	"sched/schedule/serve/web"
)

// openSeveral reads several schedules. A schedule that cannot be read takes no other one down.
func (a serveCommand) openSeveral(o *serveOptions) (serve.Service, error) {
	if err := o.check(); err != nil {
		return serve.Service{}, err
	}
	if o.edit != "" {
		return serve.Service{}, usage("serve that schedule alone", "--edit is for one schedule")
	}
	var all []*schedule.Schedule
	var apps []serveCommand
	var files, broken []string
	var wrong error
	for _, file := range o.configs {
		one := *a.app
		one.config = file
		s, err := serveCommand{&one}.trustedState()
		if err != nil {
			a.problem("%s is not served: %v", file, err)
			broken, wrong = append(broken, file+" is not served: `sched check -c "+file+"` says why. Start `sched serve` again when it is right"), err
			continue
		}
		all, apps, files = append(all, s), append(apps, serveCommand{&one}), append(files, file)
	}
	if len(all) == 0 {
		return serve.Service{}, wrong
	}
	names, err := siteNames(all, files)
	if err != nil {
		return serve.Service{}, err
	}
	var members []*serve.Server
	for i, s := range all {
		config := apps[i].serveConfig(s, *o)
		config.Mount = "/s/" + names[i]
		config.BasePath += config.Mount
		server, err := serve.New(config)
		if err != nil {
			return serve.Service{}, err
		}
		members = append(members, server)
	}
	made := serve.NewSite(members, broken, web.ShowSchedules, web.New)
	return serve.Service{Names: strings.Join(names, ", ") + " are", Handler: made, LoginPath: made.LoginPath}, nil
}

// siteNames returns the names of the schedules in paths: their names, or the names of their files
// if two schedules have the same name.
func siteNames(all []*schedule.Schedule, files []string) ([]string, error) {
	var names, stems []string
	for i, s := range all {
		base := filepath.Base(files[i])
		names, stems = append(names, s.Name), append(stems, strings.TrimSuffix(base, filepath.Ext(base)))
	}
	if twice(names) != "" {
		names = stems
	}
	if name := twice(names); name != "" {
		return nil, usage("give each a `name:` of its own", "two schedules are called %s", name)
	}
	for i, name := range names {
		if !inPaths().MatchString(name) {
			return nil, usage("give it a `name:` of letters, digits and . _ -", "%s: %q cannot be a part of a path", files[i], name)
		}
	}
	return names, nil
}

var inPaths = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]*$`) })

// twice returns a name that is there twice; "" if there is no such name.
func twice(names []string) string {
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return name
		}
	}
	return ""
}
