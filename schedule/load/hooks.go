package load

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/preset"
	"sched/schedule/yamldoc"
)

// This file reads hooks: a command, or a mapping with exactly one of run, trigger, ping, webhook,
// mail, sentry and preset. It also reads the settings of mail for the whole file.

// A hookDraft is a hook in a mapping, while it is read.
type hookDraft struct {
	run    schedule.Command
	notify schedule.Notification
	preset *presetDraft // nil without one, and if it is wrong
	with   *node        // the values of its parameters
	target *node        // of trigger
	kinds  []string     // the keys that say what kind of hook this is; a valid one has exactly one

	after int

	key   string // on_failure and the like
	shell []string
}

// hooksOf returns the access of a key of hooks, which come after the inherited hooks. An empty
// list, or false alone or first, takes the inherited hooks away. Hooks without a target are left
// out.
func hooksOf(field func(*schedule.Hooks) *[]schedule.Hook) access[taskDraft] {
	set := func(l *loader, t *taskDraft, n *node) {
		inherited := *field(&t.Hooks)
		items := []*node{n}
		if n.IsList() {
			items = n.Items()
		}
		if len(items) == 0 || items[0].IsFalse() {
			l.Origins.ForgetBelow(l.Key)
			inherited, items = nil, items[min(1, len(items)):]
		}
		hooks := slices.Clip(inherited)
		for _, item := range items {
			hook, ok := readHook(l, item, t.shell)
			if !ok || hook.Notify == nil || !hook.Notify.Empty() {
				l.Origins.CopyKey(l.Key, l.Key+"."+strconv.Itoa(len(hooks))) // several levels can add hooks
				hooks = append(hooks, hook)
			}
		}
		*field(&t.Hooks) = hooks
	}
	return by(set).shows(func(t *taskDraft) any { return settingValue(*field(&t.Hooks)) })
}

// readHook reads a command, or a mapping (finishHook). It returns false after a problem.
func readHook(l *loader, n *node, shell []string) (schedule.Hook, bool) {
	switch {
	case n.IsList():
		l.Problemf(n, "a list to be run without a shell is written {run: […]}",
			"a hook of %s must be text or a mapping, not a list", l.Key)
		return schedule.Hook{}, false
	case n.IsMapping():
		h := hookDraft{shell: shell, key: l.Key}
		before := l.ProblemCount()
		kind := scope(0)
		if n.Has("preset") {
			kind = presetScope
		}
		hookKeys.Decode(l, &h, n, kind)
		if l.ProblemCount() > before {
			return schedule.Hook{}, false
		}
		return finishHook(l, n, &h)
	}
	const hint = "leave the key out for no hook, or write false against one that is inherited; " +
		`the command is written "`
	if !l.RefuseBool(n, hint+n.Value+`"`) {
		return schedule.Hook{}, false
	}
	if !refuseTarget(l, n) {
		return schedule.Hook{}, false
	}
	command, ok := readCommand(l, n, shell)
	return schedule.Hook{Run: command}, ok
}

var (
	addressText = humanize.Pattern(`^(?:mailto:)?([^\s@/:,]+@[^\s@/:,]+\.[A-Za-z]{2,}(?:, ?[^\s@/:,]+@[^\s@/:,]+\.[A-Za-z]{2,})*)$`)
	urlText     = humanize.Pattern(`^https?://\S+$`)
)

// refuseTarget refuses an address or a URL in place of the command of a hook: nobody would be told.
// It does not repeat a URL, which may hold a secret.
func refuseTarget(l *loader, n *node) bool {
	text := strings.TrimSpace(n.Value)
	if !n.IsScalar() || !strings.ContainsAny(text, "@:") {
		return true
	}
	if found := addressText().FindStringSubmatch(text); found != nil {
		addresses := found[1]
		if strings.Contains(addresses, ",") {
			addresses = "[" + addresses + "]"
		}
		l.Problemf(n, "write {mail: "+yamldoc.Shorten(addresses)+"}",
			"%s: %s is a mail address, not a command", l.Key, yamldoc.Quote(text))
		return false
	}
	if !urlText().MatchString(text) {
		return true
	}
	hint := "write {webhook: URL}, or {ping: URL} for one that is only fetched"
	if service := serviceOf(text); service.format != "" {
		hint = fmt.Sprintf(`write {webhook: "${%s_URL}", format: %s}`, strings.ToUpper(service.format), service.format)
	}
	l.Problemf(n, hint, "%s: this is a URL, not a command", l.Key)
	return false
}

// A service takes webhooks in no format but its own.
type service struct{ host, name, format string }

// services are known by the end of their hosts.
var services = []service{
	{"hooks.slack.com", "Slack", "slack"},
	{"discord.com", "Discord", "discord"},
	{"discordapp.com", "Discord", "discord"},
	{"webhook.office.com", "Teams", "teams"},
}

// serviceOf returns the service that an https URL belongs to; the zero service for any other URL.
func serviceOf(address string) service {
	host, isHTTP := strings.CutPrefix(strings.ToLower(address), "https://")
	if !isHTTP {
		return service{}
	}
	if end := strings.IndexAny(host, "/:?#"); end >= 0 {
		host = host[:end]
	}
	for _, s := range services {
		if host == s.host || strings.HasSuffix(host, "."+s.host) {
			return s
		}
	}
	return service{}
}

// finishHook checks the keys of a mapping against each other, and returns the hook of its one kind.
func finishHook(l *loader, n *node, h *hookDraft) (schedule.Hook, bool) {
	switch {
	case n.IsEmpty():
		l.Problemf(n, "write {run: COMMAND}", "a hook of %s is empty", l.Key)
	case len(h.kinds) == 0:
		l.Problemf(n, "say what it is: run, trigger, ping, webhook, mail, sentry or preset",
			"a hook of %s does nothing", l.Key)
	case len(h.kinds) > 1:
		l.Problemf(n, "make a list of them, each on its own",
			"a hook of %s is %s at once", l.Key, strings.Join(h.kinds, " and "))
	case h.kinds[0] == "run":
		return schedule.Hook{Run: h.run, After: h.after}, true
	case h.kinds[0] == "trigger":
		return schedule.Hook{Trigger: h.target.Value, Place: l.PlaceOf(h.target), After: h.after}, true
	case h.kinds[0] == "preset":
		return schedule.Hook{Notify: &h.notify, After: h.after}, finishPreset(l, n, h)
	default:
		warnOfFormat(l, n, h)
		return schedule.Hook{Notify: &h.notify, After: h.after}, true
	}
	return schedule.Hook{}, false
}

// warnOfFormat warns of a webhook for a service that takes no JSON of ours.
func warnOfFormat(l *loader, n *node, h *hookDraft) {
	address := h.notify.Webhook
	if address == "" || n.Has("format") {
		return
	}
	if l.options.CheckNotification != nil && strings.Contains(address, "${") {
		told, err := h.notify.Expanded(schedule.Expansion{Getenv: l.options.Getenv, Folder: l.folder})
		if err != nil {
			return
		}
		address = told.Webhook
	}
	if service := serviceOf(address); service.format != "" {
		l.Warnf(n.Lookup("webhook"), "add format: "+service.format,
			"%s: this is %s, which takes no other body than its own", l.Key, service.name)
	}
}

func setHookCommand(l *loader, h *hookDraft, n *node) {
	h.kinds = append(h.kinds, "run")
	if refuseTarget(l, n) {
		h.run, _ = readCommand(l, n, h.shell)
	}
}

// setMail reads the settings that the mails of all tasks take over. It comes before defaults and
// tasks.
func setMail(l *loader, _ *settings, n *node) {
	if !l.RequireMapping(n, l.Key, "") {
		return
	}
	mailKeys.Decode(l, &l.mail, n, 0)
	if n.IsEmpty() {
		l.Problemf(n, "write {url: smtp://HOST, from: ADDRESS}", "mail is empty")
	}
}

// readMailURL reads the URL of a server, and warns of a password that stands in the file itself.
func readMailURL(l *loader, n *node) (string, bool) {
	url, ok := readTarget(l, n, func(n *schedule.Notification) *string { return &n.MailURL })
	ok = ok && l.RefuseEmptied(n, url, "if a machine may send by its sendmail")
	_, rest, _ := strings.Cut(url, "://")
	user, _, hasUser := strings.Cut(rest, "@")
	if _, password, _ := strings.Cut(user, ":"); hasUser && password != "" && !strings.Contains(password, "${") {
		l.Warnf(n, "write ${VAR}, ${file:PATH} or ${credential:NAME} in its place",
			"%s has the password in it, and with it each run in the history", l.Key)
	}
	return url, ok
}

func readMailFrom(l *loader, n *node) (string, bool) {
	from, ok := readTarget(l, n, func(n *schedule.Notification) *string { return &n.MailFrom })
	return from, ok && l.RefuseEmptied(n, from, "if a machine may have its own address")
}

// readTarget reads a URL or an address for a field of notifications (checkedTarget).
func readTarget(l *loader, n *node, field func(*schedule.Notification) *string) (string, bool) {
	return checkedTarget(l, n, func(text string) (checked schedule.Notification) {
		*field(&checked) = text
		if checked.MailURL != "" || checked.MailFrom != "" {
			checked.Mail = []string{"somebody@example.com"} // else it would be no mail
		}
		return checked
	})
}

// warnOfEmptied warns of a target that is empty because a variable is set to nothing.
func warnOfEmptied(l *loader, n *node, checked string) {
	if text, plain := l.Emptied(n, checked); text != "" {
		l.Warnf(n, "write ${"+plain+":-} if nobody may be told", "%s is empty: %s, so nobody is told", l.Key, text)
	}
}

// checkedTarget reads a URL or an address, and returns it unexpanded. It expands the text only to
// check the notification that notificationOf makes of it. If the expanded text is empty, the result
// is empty, too.
func checkedTarget(l *loader, n *node, notificationOf func(string) schedule.Notification) (string, bool) {
	text, ok := l.NonEmptyText(n)
	if !ok || l.options.CheckNotification == nil {
		return text, ok
	}
	value, ok := l.Secret(n)
	if value = strings.TrimSpace(value); !ok || value == "" {
		return "", ok
	}
	if problem, hint := l.options.CheckNotification(notificationOf(value)); problem != "" {
		l.Problemf(n, hint, "%s: %s", l.Key, problem)
		return "", false
	}
	return text, true
}

// targetKey returns the access of a key that says what kind of hook this is, and has its target.
func targetKey(kind string, field func(*schedule.Notification) *string) access[hookDraft] {
	return by(func(l *loader, h *hookDraft, n *node) {
		h.kinds = append(h.kinds, kind)
		target, ok := readTarget(l, n, field)
		if *field(&h.notify) = target; ok {
			warnOfEmptied(l, n, target)
		}
	})
}

// setPreset reads the name or the file of a preset. setWith reads the values that fill it in.
func setPreset(l *loader, h *hookDraft, n *node) {
	h.kinds = append(h.kinds, "preset")
	if !l.RefuseBool(n, "") {
		return
	}
	if text, ok := l.NonEmptyText(n); ok {
		h.preset = openPreset(l, n, text)
	}
}

// setWith keeps the values of the parameters for finishPreset.
func setWith(l *loader, h *hookDraft, n *node) {
	allowOnly(l, n, h, "", "preset")
	if l.RequireMapping(n, l.Key, "") {
		h.with = n
	}
}

// finishPreset gives the notification its preset with the values of all parameters. If the value of
// a parameter that it requires is empty, nobody is told, as with any empty target.
func finishPreset(l *loader, n *node, h *hookDraft) bool {
	if h.preset == nil {
		return false
	}
	before, filled := l.ProblemCount(), h.preset.Preset
	filled.With = maps.Clone(filled.With)
	if h.with != nil {
		readParams(l, h.preset, &filled, h.with)
	}
	for _, p := range h.preset.params {
		if !p.isOptional && (h.with == nil || !h.with.Has(p.name)) {
			l.Problemf(firstOf(n, "with"), "write "+h.preset.example(n.Lookup("preset").Value),
				"%s: the preset %s needs %s, %s", l.Key, filled.Name, p.name, p.about)
		}
	}
	if l.ProblemCount() > before {
		return false
	}
	h.notify.Preset = &filled
	if l.options.CheckNotification == nil {
		return true
	}
	told, err := h.notify.Expanded(schedule.Expansion{Getenv: l.options.Getenv, Folder: l.folder})
	if err != nil || told.Empty() {
		h.notify.Preset = nil
		return err == nil
	}
	if problem, hint := l.options.CheckNotification(told); problem != "" {
		l.Problemf(firstOf(n, "with"), hint, "%s: %s", l.Key, problem)
		return false
	}
	return true
}

// readParams reads the values of the parameters into a copy of the preset. It expands them only to
// find mistakes.
func readParams(l *loader, d *presetDraft, filled *preset.Preset, n *node) {
	above := l.Key
	defer func() { l.Key = above }()
	l.Key += ".with"
	for name, value := range yamldoc.NamedPairs(l.Reader, n) {
		p := d.param(name.Value)
		if p == nil {
			names := d.paramNames()
			hint := cmp.Or(yamldoc.DidYouMean(l.Nearest(name.Value, names)), "they are "+strings.Join(names, ", "))
			l.Problemf(name, hint, "%s: the preset %s has no parameter %s",
				l.Key, filled.Name, yamldoc.Quote(name.Value))
			continue
		}
		l.Key += "." + p.name
		text, ok := l.Text(value)
		if ok && l.options.CheckNotification != nil {
			l.Secret(value)
		}
		filled.With[p.name] = text
	}
}

// setSentry reads the DSN of a project of Sentry. Its messages follow a run from start to end.
func setSentry(l *loader, h *hookDraft, n *node) {
	h.kinds = append(h.kinds, "sentry")
	if h.key != "after" {
		l.Problemf(n, "move it to `after`: it tells of the start of a run, too",
			"sentry belongs in after, not in %s", h.key)
		return
	}
	h.notify.On = []schedule.Moment{schedule.OnStart, schedule.OnSuccess, schedule.OnFailure}
	h.notify.Sentry, _ = readTarget(l, n, func(n *schedule.Notification) *string { return &n.Sentry })
}

// startMargin is how late a run may start for Sentry, besides the spread of its task.
const startMargin = 5 * time.Minute

// setMonitors gives the hooks for Sentry what Sentry shall expect of the task.
func setMonitors(t *taskDraft) {
	for i, hook := range t.Hooks.After {
		if hook.Notify == nil || hook.Notify.Sentry == "" {
			continue
		}
		watched := *hook.Notify
		watched.Monitor = monitorOf(&t.Task)
		t.Hooks.After = slices.Clone(t.Hooks.After) // other tasks inherit the same list
		t.Hooks.After[i].Notify = &watched
	}
}

// portableCron matches expressions that every cron understands in the same way.
var portableCron = humanize.Pattern(`^[-0-9*/,]+( [-0-9*/,]+){4}$`)

// monitorOf returns what Sentry shall expect of the task; nil if Sentry cannot know when the task
// is due. Sentry knows one cron expression. It knows no conditions, and no first and last time.
func monitorOf(t *schedule.Task) *schedule.Monitor {
	texts := t.When.Texts()
	conditional := len(t.ConditionCommands) > 0 || !reflect.ValueOf(t.Conditions).IsZero() || t.Bounds() != ""
	if len(texts) != 1 || conditional || !portableCron().MatchString(texts[0]) {
		return nil
	}
	return &schedule.Monitor{
		Cron:    texts[0],
		Zone:    t.When.Location.String(),
		Margin:  startMargin + t.Spread,
		Longest: t.Longest(),
	}
}

func readOTLP(l *loader, n *node) (string, bool) {
	return readTarget(l, n, func(n *schedule.Notification) *string { return &n.OTLP })
}

// setAddresses reads one address or a list. Addresses that are empty when they are expanded are
// left out.
func setAddresses(l *loader, h *hookDraft, n *node) {
	h.kinds = append(h.kinds, "mail")
	if !l.RefuseEmptyList(n, "") {
		return
	}
	h.notify.MailURL, h.notify.MailFrom = l.mail.url, l.mail.from
	n.Each(func(item *node) bool {
		text, ok := checkedTarget(l, item, func(text string) schedule.Notification {
			return schedule.Notification{Mail: []string{text}}
		})
		switch {
		case text != "":
			h.notify.Mail = append(h.notify.Mail, text)
		case ok:
			warnOfEmptied(l, item, text)
		}
		return ok
	})
}

// allowOnly refuses a key that belongs to hooks of other kinds, and reports whether the key may
// stand there.
func allowOnly(l *loader, n *node, h *hookDraft, hint string, kinds ...string) bool {
	if len(h.kinds) != 1 || slices.Contains(kinds, h.kinds[0]) {
		return true
	}
	l.Problemf(n, hint, "%s is for %s, not for %s", l.Key, strings.Join(kinds, ", "), h.kinds[0])
	return false
}

// momentWords are the moments at which a ping may be sent.
var momentWords = []string{string(schedule.OnStart), string(schedule.OnSuccess), string(schedule.OnFailure)}

// setOn reads the key `on`: at which moments a ping is sent.
func setOn(l *loader, h *hookDraft, n *node) {
	if !allowOnly(l, n, h, "the key that has the hook says when it fires, as in `on_failure: {webhook: URL}`", "ping") {
		return
	}
	if h.key != "after" {
		l.Problemf(n, "move it to `after`: it is sent when the run starts, too",
			"a ping with on belongs in after, not in %s", h.key)
		return
	}
	if !l.RefuseEmptyList(n, "leave the key out for a ping when the run ends") {
		return
	}
	n.Each(func(item *node) bool {
		word, ok := l.OneOf(item, momentWords...)
		h.notify.On = append(h.notify.On, schedule.Moment(word))
		return ok
	})
}

// webhookFormats are the formats that a webhook may have.
var webhookFormats = []string{"slack", "text", "teams", "discord"}

// setFormat reads the key `format`: whose format a webhook has.
func setFormat(l *loader, h *hookDraft, n *node) {
	allowOnly(l, n, h, "", "webhook")
	h.notify.Format, _ = l.OneOf(n, webhookFormats...)
}

// setAfter reads the key `after`: from how many failures in a row on the hook fires.
func setAfter(l *loader, h *hookDraft, n *node) {
	if h.key != "on_failure" && h.key != "on_recovery" {
		l.Problemf(n, "", "after counts failures in a row, so it is for on_failure and on_recovery, not for %s", h.key)
	}
	h.after, _ = l.Integer(n, 1, schedule.MaxFailureStreak)
}

// setWhen reads the key `when`: after which runs a notification is sent.
func setWhen(l *loader, h *hookDraft, n *node) {
	allowOnly(l, n, h, "", "ping", "webhook", "mail", "preset")
	word, ok := l.OneOf(n, string(schedule.Changed), string(schedule.Printed))
	if !ok {
		return
	}
	switch {
	case h.key == "before" || h.key == "on_skip" || h.key == "on_overdue":
		l.Problemf(n, "", "when is about how a run ended, and in %s none has", h.key)
	case h.after > 1 && h.key == "on_failure" && word == string(schedule.Changed):
		l.Problemf(n, "remove one of the two",
			"when: changed tells of the first failure, so after: %d does not go with it", h.after)
	case h.notify.On != nil:
		l.Problemf(n, "remove one of the two",
			"a ping with on tells of every run, so when: %s does not go with it", word)
	}
	h.notify.When = schedule.Occasion(word)
}

// The bounds of at_most: each notification that was sent is remembered as long as it counts.
const (
	maxLimitPer   = schedule.LookBack
	maxLimitCount = 100
)

// setAtMost reads the key `at_most`: N per DURATION.
func setAtMost(l *loader, h *hookDraft, n *node) {
	allowOnly(l, n, h, "", "ping", "webhook", "mail", "preset")
	text, ok := l.NonEmptyText(n)
	if !ok {
		return
	}
	const hint = "write it as `at_most: 1 per 1h`"
	count, per, hasPer := strings.Cut(text, " per ")
	number, countErr := strconv.Atoi(strings.TrimSpace(count))
	d, perErr := yamldoc.ParseDuration(strings.TrimSpace(per))
	switch {
	case !hasPer || countErr != nil || perErr != nil:
		l.Problemf(n, hint, "at_most %s is not a number per duration", yamldoc.Quote(text))
	case number < 1 || number > maxLimitCount:
		l.Problemf(n, hint, "at_most %s: the number must be from 1 to %d", yamldoc.Quote(text), maxLimitCount)
	case d < time.Second || d > maxLimitPer:
		l.Problemf(n, hint, "at_most %s: the duration must be from 1s to 31d", yamldoc.Quote(text))
	case h.notify.On != nil:
		l.Problemf(n, "remove one of the two", "a ping with on tells of every run, so at_most does not go with it")
	}
	h.notify.AtMost = schedule.Limit{N: number, Per: d}
}

var mailKeys = keys[mailSettings]{
	Misplaced: func(name string, _, _ scope) string {
		switch name {
		case "to":
			return "whom mails go to is said by each hook, as in `on_failure: {mail: ADDRESS}`"
		case "host", "hostname", "server", "smtp", "smtp_host", "port", "address":
			return "write `url: smtp://HOST:PORT`"
		case "user", "username", "password", "pass":
			return "they stand in the url: `url: smtp://USER:${PASSWORD}@HOST:587`"
		case "tls", "ssl", "secure", "encryption", "scheme":
			return "write `url: smtps://HOST:465`; smtp:// takes TLS where the server has it"
		}
		return ""
	},
	Rows: mailRows,
}

func mailRows() []key[mailSettings] {
	return []key[mailSettings]{
		row("url", replacesBy(func(m *mailSettings) *string { return &m.url }, readMailURL),
			"the server", is{Of: "filled", Without: "sendmail of this machine", Example: "'smtp://localhost:25'"}),
		row("from", replacesBy(func(m *mailSettings) *string { return &m.from }, readMailFrom),
			"the sender", is{Of: "filled", Without: "the user of this machine", Example: "sched@example.com"}),
	}
}

var hookKeys = keys[hookDraft]{
	Misplaced: func(name string, in, _ scope) string {
		if in == presetScope {
			return parameterHint(name)
		}
		switch name {
		case "url":
			return "write {ping: URL} or {webhook: URL}"
		case "from":
			return "who mails come from is said once, by `mail:` at the top of the file"
		}
		if hint := webhookHint(name); hint != "" {
			return hint
		}
		if slices.Contains(presetNames(), name) {
			return "write {preset: " + name + ", with: {…}}"
		}
		return ""
	},
	Rows: hookRows,
}

// presetScope is the scope of hookKeys for a hook that names a preset.
const presetScope scope = 1

// parameterHint is the hint for an unknown key beside `preset`, which is a parameter of the preset
// unless it is a misspelt key of hooks.
func parameterHint(name string) string {
	var known []string
	for _, row := range hookRows() {
		known = append(known, row.Name)
	}
	if humanize.Nearest(name, known) != "" {
		return ""
	}
	return "values for the preset are under `with`, as in {preset: NAME, with: {" + yamldoc.Shorten(name) + ": …}}"
}

// hookRows are the keys of a hook. Their order counts: setters look at what earlier rows have set.
func hookRows() []key[hookDraft] {
	return []key[hookDraft]{
		row("run", by(setHookCommand),
			"a command", is{Of: "command", Example: "[logger, report ended]"}),
		row("trigger", by(setTrigger),
			"another task, which is started at once", is{Of: "triggered", Example: "load"}),
		row("ping", targetKey("ping", func(n *schedule.Notification) *string { return &n.Ping }),
			"a URL that is fetched", is{Of: "filled", Example: "'https://hc-ping.com/uuid'"}),
		row("webhook", targetKey("webhook", func(n *schedule.Notification) *string { return &n.Webhook }),
			"a URL to which the run is posted", is{Of: "filled", Example: "'https://example.com/hook'"}),
		row("mail", by(setAddresses),
			"addresses that get a mail", is{Of: "someWords", Example: "[ops@example.com]"}),
		row("sentry", by(setSentry),
			"the DSN of a project whose Crons watch the task",
			is{Of: "filled", Example: "'https://key@o1.ingest.sentry.io/2'"}),
		row("preset", by(setPreset),
			"a service that tells people: a preset of sched by its name, or a file of your own",
			is{Of: "preset", Example: "telegram"}),
		row("with", by(setWith),
			"the values of the parameters of a preset",
			is{Of: "with", Example: "{token: '${TELEGRAM_TOKEN}', chat: '-100123'}"}),
		row("on", by(setOn),
			"when a ping of healthchecks.io is sent",
			is{Of: "moments", Words: momentWords, Without: "at the end of the run",
				Example: "[start, success, failure]"}),
		row("format", by(setFormat),
			"whose format a webhook has",
			is{Words: webhookFormats, Without: "all that there is to tell, as JSON", Example: "slack"}),
		row("after", by(setAfter),
			"from how many failures in a row on it fires, in on_failure and on_recovery",
			is{Of: "integer", Least: 1, Most: schedule.MaxFailureStreak, Default: "1", Example: "3"}),
		row("when", by(setWhen),
			"after which runs a notification is sent",
			is{Words: []string{string(schedule.Changed), string(schedule.Printed)}, Without: "always",
				Example: "changed"}),
		row("at_most", by(setAtMost),
			"how many notifications may be sent in a time", is{Of: "limit", Without: "no bound", Example: "1 per 6h"}),
	}
}

// setTrigger reads the name of the task that a hook starts.
func setTrigger(l *loader, h *hookDraft, n *node) {
	h.kinds = append(h.kinds, "trigger")
	if !slices.Contains(schedule.TriggerKeys, h.key) {
		l.Problemf(n, "move it to "+humanize.Or(schedule.TriggerKeys),
			"a trigger comes after a run, and in %s none has ended", h.key)
		return
	}
	if !l.RefuseBool(n, "name the task that is started") {
		return
	}
	if name, ok := readName(l.Reader, n); ok {
		h.target = n
		l.chains.triggers = append(l.chains.triggers, l.mentionOf(name, n))
	}
}
