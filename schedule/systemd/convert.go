// Package systemd turns timers of systemd and their services into tasks, and proves that both are
// due at the same times.
//
// # Promises
//
//   - Each setting of the units either is in the task or is named in a Note. None is dropped in
//     silence.
//   - A command gets the same arguments as from systemd 252.
//   - It is pure but for the functions in Options.
package systemd

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"sched/schedule/crontab"
	"sched/schedule/humanize"
	"sched/schedule/machine"
	"sched/schedule/machine/oncalendar"
	"sched/schedule/mask"
	"sched/schedule/yamldoc"
)

// Options are what a conversion has to know of the machine.
type Options struct {
	Zone     *time.Location
	Home     func(user string) (dir string, ok bool)
	Exists   func(path string) bool
	UserHome string // the home of the user whose manager has the units; "" for the machine's manager
}

// A Task is a timer as a task.
type Task struct {
	Timer, Name, Command string
	Boot                 bool // it is due at a boot
	Counts               bool // systemd counts from the last run, which no proof can follow
	Secret               bool // a variable, or what is in the command, may be a secret
	Calendar             []oncalendar.Spec
	crontab.Block
}

// A Note says what is not in a task, or is there in other words.
type Note struct {
	Unit, Text string
	IsOmitted  bool // the timer is no task at all
}

func (n Note) String() string { return n.Unit + ": " + n.Text }

// Path is where services look for programs, if Environment= does not say it.
const Path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Convert makes a task of a timer. names are those that tasks before it have; it adds its own.
// Without a task the last note says why.
func Convert(units machine.TimerUnits, names map[string]bool, o Options) (*Task, []Note) {
	c := &converter{Options: o, timer: newSettings(units.Timer, o.UserHome),
		service: newSettings(units.Service, o.UserHome), task: &Task{Timer: units.Timer.Name}}
	for _, odd := range units.Unread {
		c.note(odd.Place, false, "not read: %s", odd.Text)
	}
	if err := c.convert(units); err != nil {
		c.note(units.Timer.Name, true, "not imported: %v", err)
		return nil, c.notes
	}
	for _, s := range []*settings{c.timer, c.service} {
		for _, text := range s.notTaken() {
			c.note(s.unit.Name, false, "not taken: %s", text)
		}
	}
	name := notInName().ReplaceAllString(strings.TrimSuffix(units.Timer.Name, ".timer"), "-")
	name = strings.Trim(name[:min(len(name), maxName)], "-._:")
	c.task.Name = cmp.Or(name, "timer")
	for n := 2; names[c.task.Name]; n++ {
		c.task.Name = fmt.Sprintf("%s-%d", cmp.Or(name, "timer"), n)
	}
	names[c.task.Name] = true
	c.task.Keys = append([]crontab.Key{text("name", c.task.Name)}, c.task.Keys...)
	return c.task, c.notes
}

const maxName = 100

var notInName = humanize.Pattern(`[^A-Za-z0-9._:-]+`)

type converter struct {
	Options
	timer, service *settings
	task           *Task
	notes          []Note
}

func (c *converter) note(unit string, isOmitted bool, format string, args ...any) {
	c.notes = append(c.notes, Note{unit, fmt.Sprintf(format, args...), isOmitted})
}

func (c *converter) remark(format string, args ...any) {
	c.note(c.service.unit.Name, false, format, args...)
}

func (c *converter) remarkOnSecret(name, where string) {
	c.task.Secret = true
	text, hint := mask.Kept(name, where)
	c.remark("%s: %s", text, hint)
}

func (c *converter) add(keys ...crontab.Key) { c.task.Keys = append(c.task.Keys, keys...) }

// convert sets the task. The error says why no task can be made.
func (c *converter) convert(units machine.TimerUnits) error {
	service := units.Service
	switch {
	case units.Timer.Masked:
		return fmt.Errorf("it is masked")
	case path.Ext(service.Name) != ".service":
		return fmt.Errorf("it starts %s, which is no service", service.Name)
	case service.File == "":
		return fmt.Errorf("there is no %s", service.Name)
	case service.Masked:
		return fmt.Errorf("%s is masked", service.Name)
	}
	for _, key := range []string{"RootDirectory", "RootImage", "DynamicUser"} {
		value := last(service.Values["Service."+key])
		if isOff := key == "DynamicUser" && !isTrue(value); value != "" && !isOff {
			return fmt.Errorf("%s has %s=%s, which only systemd can make", service.Name, key, value)
		}
	}
	c.dropDefaults()
	c.setWords(units)
	if err := c.setTimes(); err != nil {
		return err
	}
	if err := c.setSurroundings(); err != nil {
		return err
	}
	c.setBounds()
	return c.setCommands()
}

// dropDefaults takes out what says that a task is a task.
func (c *converter) dropDefaults() {
	t, s := c.timer, c.service
	t.take("Timer.Unit")
	t.drop("Timer.RemainAfterElapse", "yes", "true", "on", "1")
	t.drop("Install.WantedBy", "timers.target")
	for _, key := range []string{"Timer.WakeSystem", "Timer.OnClockChange", "Timer.OnTimezoneChange"} {
		t.drop(key, "no", "false", "off", "0")
	}
	s.drop("Service.RemainAfterExit", "no", "false", "off", "0")
	s.drop("Service.KillMode", "control-group")
	s.drop("Service.Restart", "no")
	s.drop("Service.StandardInput", "null")
	for _, key := range []string{"Service.StandardOutput", "Service.StandardError"} {
		s.drop(key, "journal", "inherit", "syslog", "journal+console", "syslog+console")
	}
}

// setWords sets what is for people.
func (c *converter) setWords(units machine.TimerUnits) {
	own, ofTimer := c.service.last("Unit.Description"), c.timer.last("Unit.Description")
	for _, s := range []*settings{c.timer, c.service} {
		for _, value := range s.take("Unit.Documentation") {
			if line := "See " + value; !slices.Contains(c.task.Comment, line) {
				c.task.Comment = append(c.task.Comment, line)
			}
		}
	}
	if name, err := c.timer.fixed(ofTimer); err == nil {
		ofTimer = name
	}
	if own != "" && ofTimer != "" && own != ofTimer {
		c.task.Comment = append([]string{ofTimer}, c.task.Comment...)
	}
	if description, err := c.service.fixed(cmp.Or(own, ofTimer)); err == nil && description != "" {
		c.add(text("description", description))
	}
	if !units.Enabled {
		c.add(plain("enabled", "false"))
		c.note(units.Timer.Name, false, "it is not enabled, and neither is the task")
	}
}

func (c *converter) setTimes() error {
	t, err := timesOf(c.timer, c.Zone)
	if err != nil {
		return err
	}
	c.task.Boot, c.task.Counts, c.task.Calendar = t.boot, t.counts, t.calendar
	for _, remark := range t.remarks {
		c.note(c.timer.unit.Name, false, "%s", remark)
	}
	c.add(t.keys()...)
	c.setSpread(t.boot)
	if isTrue(c.timer.last("Timer.Persistent")) && t.calendar != nil {
		c.add(plain("missed", "once"), plain("missed_within", "31d"))
	}
	return nil
}

const minSpread, maxSpread = 2 * time.Minute, 24 * time.Hour

// setSpread sets a delay that is made from the names of task and machine.
func (c *converter) setSpread(boot bool) {
	done := false
	for _, key := range []string{"RandomizedOffsetSec", "RandomizedDelaySec"} {
		values := c.timer.left["Timer."+key]
		if len(values) == 0 {
			continue
		}
		value := last(values)
		span, ok := oncalendar.ParseSpan(value)
		switch {
		case ok && span == 0:
			c.timer.take("Timer." + key)
		case !ok || span < minSpread || span > maxSpread || boot || done:
			c.note(c.timer.unit.Name, false, "not taken: %s=%s: "+
				"`spread` goes from 2m to 24h, stands once, and not with a boot", key, value)
			c.timer.take("Timer." + key)
		default:
			c.timer.take("Timer." + key)
			c.add(plain("spread", humanize.Setting(span)))
			if isFixed := isTrue(c.timer.last("Timer.FixedRandomDelay")); !isFixed && key == "RandomizedDelaySec" {
				c.note(c.timer.unit.Name, false, "%s=%s: the task has the same delay each time", key, value)
			}
			done = true
		}
	}
}

// setSurroundings sets as whom, where and with which variables the commands run.
func (c *converter) setSurroundings() error {
	s := c.service
	values := map[string]string{}
	for _, key := range []string{"User", "Group", "WorkingDirectory", "UMask", "Nice"} {
		value, err := s.fixed(s.last("Service." + key))
		if err != nil {
			return fmt.Errorf("%s=: %w", key, err)
		}
		values[key] = value
	}
	user := values["User"]
	if c.UserHome == "" {
		user = cmp.Or(user, "root")
		c.add(text("user", user))
	}
	if group := values["Group"]; group != "" {
		c.add(text("group", group))
	}
	if dir, _ := strings.CutPrefix(values["WorkingDirectory"], "-"); dir == "~" {
		home, ok := c.UserHome, c.UserHome != ""
		if !ok {
			home, ok = c.Home(user)
		}
		if !ok {
			return fmt.Errorf("WorkingDirectory=~: there is no user %s on this machine", user)
		}
		c.add(text("dir", crontab.Escape(home)))
	} else if dir != "" {
		c.add(text("dir", crontab.Escape(dir)))
		if dir != values["WorkingDirectory"] {
			c.remark("WorkingDirectory=-%s: without the folder the task fails", dir)
		}
	} else if c.UserHome != "" {
		c.add(text("dir", crontab.Escape(c.UserHome)))
	}
	if mask := values["UMask"]; mask != "" {
		c.add(text("umask", "0"+strings.TrimLeft(mask, "0")))
	}
	if nice := values["Nice"]; nice != "" {
		c.add(plain("nice", nice))
	}
	return nil
}

// setBounds sets limits, the time that a run may take, and which ends are good.
func (c *converter) setBounds() {
	s := c.service
	kind := cmp.Or(s.last("Service.Type"), "simple")
	isOneshot := kind == "oneshot"
	if !slices.Contains([]string{"oneshot", "simple", "exec", "idle"}, kind) {
		c.remark("not taken: Type=%s: the run ends with the process that was started", kind)
	}
	var limits []string
	for _, l := range []struct{ key, name, pattern, unit string }{
		{"MemoryMax", "memory", `^\d+[KMGT]$`, "B"}, {"CPUQuota", "cpu", `^\d+%$`, ""}, {"LimitNOFILE", "files", `^\d+$`, ""},
	} {
		values := s.left["Service."+l.key]
		if len(values) > 0 && regexp.MustCompile(l.pattern).MatchString(last(values)) {
			limits = append(limits, l.name+": "+s.last("Service."+l.key)+l.unit)
		}
		s.drop("Service."+l.key, "infinity")
	}
	if limits != nil {
		c.add(plain("limits", "{"+strings.Join(limits, ", ")+"}"))
	}
	bounds := map[string]string{"timeout": "RuntimeMaxSec", "kill_after": "TimeoutStopSec"}
	if isOneshot {
		bounds["timeout"] = "TimeoutStartSec"
	}
	if both := s.left["Service.TimeoutSec"]; both != nil { // it stands for TimeoutStartSec and TimeoutStopSec
		s.take("Service.TimeoutSec")
		s.left["Service.TimeoutStartSec"] = append(both, s.left["Service.TimeoutStartSec"]...)
		s.left["Service.TimeoutStopSec"] = append(both, s.left["Service.TimeoutStopSec"]...)
	}
	for _, key := range []string{"timeout", "kill_after"} {
		values := s.left["Service."+bounds[key]]
		if len(values) == 0 {
			continue
		}
		span, ok := oncalendar.ParseSpan(last(values))
		switch {
		case ok && span > 0:
			c.add(plain(key, humanize.Setting(span)))
			s.take("Service." + bounds[key])
		case key == "timeout": // 0 and infinity are no bound
			s.drop("Service."+bounds[key], "0", "infinity")
		}
	}
	c.setSuccess()
	c.setOutput()
}

// setOutput sets the file that gets what the task prints, unless errors go elsewhere.
func (c *converter) setOutput() {
	values := c.service.left["Service.StandardOutput"]
	if len(values) == 0 {
		return
	}
	value := last(values)
	how, file, _ := strings.Cut(value, ":")
	file, err := c.service.fixed(file)
	if err != nil || how != "append" && how != "truncate" || !path.IsAbs(file) {
		return
	}
	if c.service.drop("Service.StandardError", value); c.service.left["Service.StandardError"] != nil {
		return
	}
	c.service.take("Service.StandardOutput")
	c.add(crontab.Key{Name: "output", Value: yamldoc.NewMapping(yamldoc.NewText("file"),
		yamldoc.NewText(crontab.Escape(file)), yamldoc.NewText("append"), yamldoc.NewBool(how == "append"))})
}

// setSuccess sets the exit codes of a success. Words and signals are left.
func (c *converter) setSuccess() {
	codes := []string{"0"}
	var other []string
	for _, line := range c.service.take("Service.SuccessExitStatus") {
		for _, word := range strings.Fields(line) {
			if _, err := strconv.ParseUint(word, 10, 8); err == nil {
				codes = append(codes, word)
			} else {
				other = append(other, word)
			}
		}
	}
	if len(codes) > 1 {
		c.add(plain("success_codes", "["+strings.Join(codes, ", ")+"]"))
	}
	if other != nil {
		c.remark("not taken: SuccessExitStatus=%s: `success_codes` has numbers", strings.Join(other, " "))
	}
}

// setVariables sets the variables, and returns what is known of them.
func (c *converter) setVariables() (variables, error) {
	s, env := c.service, variables{known: map[string]string{}}
	for _, line := range s.take("Service.Environment") {
		words, err := splitWords(line, true)
		if err != nil {
			return env, fmt.Errorf("the setting Environment=%s: %w", line, err)
		}
		for _, word := range words {
			name, value, isSet := strings.Cut(word, "=")
			value, err := s.fixed(value)
			if err != nil {
				return env, fmt.Errorf("the setting Environment=%s: %w", line, err)
			}
			if !isSet || !identifier().MatchString(name) {
				c.remark("not taken: Environment=%s: it is no NAME=VALUE", word)
				continue
			}
			env.known[name] = value
		}
	}
	if len(env.known) > 0 {
		c.add(crontab.EnvKey(env.known))
	}
	for _, name := range slices.Sorted(maps.Keys(env.known)) {
		if mask.SecretName().MatchString(name) {
			c.remarkOnSecret(name, mask.InEnv)
		}
	}
	var files []*yamldoc.Node
	for _, written := range s.take("Service.EnvironmentFile") {
		file, err := s.fixed(written)
		name, mayLack := strings.CutPrefix(file, "-")
		switch {
		case err != nil:
			c.remark("not taken: EnvironmentFile=%s: %v", written, err)
		case strings.ContainsAny(name, "*?["):
			c.remark("not taken: EnvironmentFile=%s: `env_file` has no patterns", written)
		case mayLack && !c.Exists(name):
			c.remark("not taken: EnvironmentFile=%s: it is not there, and a task fails without its `env_file`", written)
		default:
			files = append(files, yamldoc.NewText(crontab.Escape(name)))
			if mayLack {
				c.remark("EnvironmentFile=%s: without the file the task fails", written)
			}
		}
	}
	if env.hasFiles = files != nil; env.hasFiles {
		c.add(crontab.Key{Name: "env_file", Value: yamldoc.NewList(files...)})
		if len(env.known) > 0 {
			c.remark("EnvironmentFile= gives way to Environment=, in `env`; with systemd it wins")
		}
	}
	return env, nil
}

// setCommands sets what the task runs.
func (c *converter) setCommands() error {
	s := c.service
	env, err := c.setVariables()
	if err != nil {
		return err
	}
	isOneshot := slices.Contains(s.unit.Values["Service.Type"], "oneshot")
	byKey := map[string][]command{}
	keys := []string{"ExecCondition", "ExecStartPre", "ExecStart", "ExecStartPost", "ExecStop", "ExecStopPost"}
	for _, key := range keys {
		if key == "ExecStartPost" && !isOneshot {
			continue // it would run beside the command
		}
		for _, line := range s.take("Service." + key) {
			all, err := readCommands(line, s.specifiers, env)
			if err != nil {
				return fmt.Errorf("%s=%s: %w", key, line, err)
			}
			c.remarkOnPrefixes(key, line, all)
			byKey[key] = append(byKey[key], all...)
		}
	}
	if byKey["ExecStart"] == nil {
		return fmt.Errorf("%s has no ExecStart=", s.unit.Name)
	}
	c.setConditions(byKey["ExecCondition"])
	for _, hook := range [][2]string{{"on_success", "ExecStop"}, {"after", "ExecStopPost"}} {
		if all := byKey[hook[1]]; all != nil {
			c.add(text(hook[0], joined(all)))
			c.remark("%s= is a hook (%s): it may take 30 seconds, and fails no run", hook[1], hook[0])
		}
	}
	c.task.Command = joined(slices.Concat(byKey["ExecStartPre"], byKey["ExecStart"], byKey["ExecStartPost"]))
	c.add(crontab.CommandKey(c.task.Command))
	for _, name := range mask.SecretsIn(c.task.Command) {
		c.remarkOnSecret(name, mask.InCommand)
	}
	return nil
}

// remarkOnPrefixes says what the signs before a program mean to systemd and not here.
func (c *converter) remarkOnPrefixes(key, line string, all []command) {
	for _, one := range all {
		if strings.Contains(one.prefixes, "@") {
			c.remark("not taken: %s=%s: @ gives the program another name (argv[0])", key, line)
		}
		if strings.ContainsAny(one.prefixes, "+!") && len(c.service.unit.Values["Service.User"]) > 0 {
			c.remark("not taken: %s=%s: with + or ! it would run as root, and here as the user of the task", key, line)
		}
		if one.unreadQuotes {
			c.remark("%s=%s: quotes in the value of a $NAME are text here", key, line)
		}
	}
}

// pathTests are the conditions that test(1) knows.
var pathTests = [][2]string{
	{"ConditionPathExists", "test -e %s"}, {"ConditionPathIsDirectory", "test -d %s"},
	{"ConditionPathIsSymbolicLink", "test -L %s"}, {"ConditionFileNotEmpty", "test -f %[1]s && test -s %[1]s"},
	{"ConditionFileIsExecutable", "test -f %[1]s && test -x %[1]s"},
}

// setConditions sets when. Conditions of the timer, which systemd asks when it starts the timer,
// are asked before each run.
func (c *converter) setConditions(commands []command) {
	var tests []command
	for _, test := range pathTests {
		for _, s := range []*settings{c.timer, c.service} {
			for _, value := range s.take("Unit." + test[0]) {
				name, negated := strings.CutPrefix(value, "!")
				name, err := s.fixed(name)
				if err != nil || !strings.HasPrefix(name, "/") { // such as | before it: one of several is enough
					s.left["Unit."+test[0]] = append(s.left["Unit."+test[0]], value)
					continue
				}
				text := fmt.Sprintf(test[1], quoted(name))
				switch {
				case negated && strings.Contains(text, "&&"):
					text = "! { " + text + "; }"
				case negated:
					text = "! " + text
				}
				if one := (command{shell: text}); !slices.Contains(tests, one) {
					tests = append(tests, one)
				}
			}
		}
	}
	if commands != nil {
		c.remark("ExecCondition= is asked by `when`, for 10 seconds; a code from 126 to 254 is a failure")
	}
	if all := append(tests, commands...); all != nil {
		c.add(text("when", joined(all)))
	}
}
