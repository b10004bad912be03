package serve

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"sched/cmd/app"
	"sched/cmd/exit"
	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/serve"
	"sched/schedule/serve/web"
)

// A servedSchedule is one of several schedules that a site serves.
type servedSchedule struct {
	app      *app.App // with the file as its --config
	file     string
	schedule *schedule.Schedule
}

// openSite returns the service of several schedules. A schedule that cannot be read takes no other
// one down.
func openSite(a *app.App, o options, signIn *serve.HeaderSignIn) (serve.Service, error) {
	served, broken, err := loadSeveral(a, o.configs)
	if err != nil {
		return serve.Service{}, err
	}
	names, err := siteNames(served)
	if err != nil {
		return serve.Service{}, err
	}
	var members []*serve.Server
	for i, member := range served {
		config := newConfig(member.app, member.schedule, o, signIn)
		config.Mount = "/s/" + names[i]
		config.BasePath += config.Mount
		server, err := serve.New(config)
		if err != nil {
			return serve.Service{}, err
		}
		members = append(members, server)
	}
	return serve.Service{
		Names:     names,
		Handler:   serve.NewSite(members, broken, web.ShowSchedules, web.New),
		LoginPath: members[0].LoginPath,
	}, nil
}

// loadSeveral loads the schedules of the files. broken has a text for each file that cannot be
// read. The error is the last one, if no file can be read.
func loadSeveral(a *app.App, files []string) (served []servedSchedule, broken []string, err error) {
	for _, file := range files {
		member := a.ForFile(file)
		s, loadErr := loadWithStateDir(member)
		if loadErr != nil {
			a.Warn("%s is not served: %v", file, loadErr)
			broken = append(broken, fmt.Sprintf("%s is not served: `sched check -c %s` says why. "+
				"Start `sched serve` again when it is right", file, file))
			err = loadErr
			continue
		}
		served = append(served, servedSchedule{app: member, file: file, schedule: s})
	}
	if len(served) == 0 {
		return nil, nil, err
	}
	return served, broken, nil
}

// siteNames returns the names of the schedules in paths: their names, or the names of their files
// if two schedules have the same name.
func siteNames(served []servedSchedule) ([]string, error) {
	var names, stems []string
	for _, member := range served {
		base := filepath.Base(member.file)
		names = append(names, member.schedule.Name)
		stems = append(stems, strings.TrimSuffix(base, filepath.Ext(base)))
	}
	if firstRepeated(names) != "" {
		names = stems
	}
	if name := firstRepeated(names); name != "" {
		return nil, exit.Usage("give each a `name:` of its own", "two schedules are called %s", name)
	}
	for i, name := range names {
		if !inPaths().MatchString(name) {
			return nil, exit.Usage("give it a `name:` of letters, digits and . _ -",
				"%s: %q cannot be a part of a path", served[i].file, name)
		}
	}
	return names, nil
}

var inPaths = humanize.Pattern(`^[A-Za-z0-9_][A-Za-z0-9._-]*$`)

// firstRepeated returns the first name that occurs twice; "" if the names differ.
func firstRepeated(names []string) string {
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return name
		}
	}
	return ""
}
