package systemd

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"sched/schedule/humanize"
	"sched/schedule/machine"
)

// settings are what a unit says. A value that nobody takes out of left is in no task, and is named.
type settings struct {
	unit machine.Unit
	specifiers
	left map[string][]string
}

func newSettings(u machine.Unit, userHome string) *settings {
	return &settings{u, specifiersOf(u.Name, u.File, userHome), maps.Clone(u.Values)}
}

// take takes out all values of a key.
func (s *settings) take(key string) []string {
	values := s.left[key]
	delete(s.left, key)
	return values
}

// last takes out the value that counts of a key with one value; "" without one.
func (s *settings) last(key string) string {
	return last(s.take(key))
}

func last(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[len(values)-1]
}

// drop takes out a key that has one of these values, which say what a task does anyhow.
func (s *settings) drop(key string, values ...string) {
	if all := s.left[key]; len(all) == 0 || slices.Contains(values, strings.ToLower(all[len(all)-1])) {
		delete(s.left, key)
	}
}

func isTrue(value string) bool {
	return slices.Contains([]string{"1", "yes", "y", "true", "t", "on"}, strings.ToLower(value))
}

// notTaken says for each reason which settings are left.
func (s *settings) notTaken() (texts []string) {
	byReason := map[string][]string{}
	for _, key := range slices.Sorted(maps.Keys(s.left)) {
		_, name, _ := strings.Cut(key, ".")
		for _, value := range s.left[key] {
			reason := reasonFor(key)
			byReason[reason] = append(byReason[reason], name+"="+value)
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(byReason)) {
		texts = append(texts, fmt.Sprintf("%s: %s", strings.Join(byReason[reason], ", "), reason))
	}
	return texts
}

// reasons say why settings are not in the task. The first pattern that fits the end of SECTION.KEY
// counts.
var reasons = []struct {
	keys func() *regexp.Regexp
	why  string
}{
	{humanize.Pattern(`Unit\.(Condition|Assert)`), "of the conditions of systemd, `when` can ask for paths alone"},
	{humanize.Pattern(`Unit\.On(Failure|Success)`), "it starts a unit: write `on_failure` or `on_success`"},
	{humanize.Pattern(`Unit\.(After|Before|Wants|Requires|Requisite|BindsTo|PartOf|Upholds|Conflicts|` +
		`RequiresMountsFor|DefaultDependencies|JoinsNamespaceOf)$`), "no task depends on a unit"},
	{humanize.Pattern(`Timer\.AccuracySec`), "a task is due to the minute, or to the second if it says one"},
	{humanize.Pattern(`Service\.(Protect|Private|Restrict|System(Call|FilterS)|Capabilit|Ambient|NoNewPriv|ReadOnly|` +
		`ReadWrite|Inaccessible|Exec(Paths|SearchPath)|NoExec|BindPaths|BindReadOnly|TemporaryFileSystem|Memory[DK]|` +
		`LockPers|RemoveIPC|IPAddress|Device(Allow|Policy)|SecureBits|Mount|SocketBind|KeyringMode|SELinux|AppArmor|` +
		`Smack|ProcSubset|NetworkNamespace|IPCNamespace|DynamicUser)`), "a task has no sandbox"},
	{humanize.Pattern(`Service\.(Standard|TTY|Syslog|Log[A-Z])`), "`sched logs` has what the task prints"},
	{humanize.Pattern(`Service\.Restart|StartLimit`), "`retry` tries a failed attempt again"},
	{humanize.Pattern(`Service\.(IO|CPU)Sched`), "write `ionice` or `chrt` before the command"},
	{humanize.Pattern(`Service\.Limit`), "write `ulimit` before the command"},
	{humanize.Pattern(`Service\.(Kill|SendSIG|FinalKill|RestartKill|Timeout|RuntimeMax|RuntimeRand|Watchdog)`),
		"a task has `timeout`, and then TERM and KILL for all its processes"},
	{humanize.Pattern(`Service\.(Load|Set|Import)Credential`), "a task has no credentials of its own"},
	{humanize.Pattern(`Service\.(State|Cache|Logs|Runtime|Configuration)Directory`),
		"no task makes folders, or sets the variables that name them"},
	{humanize.Pattern(`Service\.(Slice|Delegate|CPU|Memory|IO|Tasks|Startup|OOM|ManagedOOM)`),
		"of these, `limits` has MemoryMax= and CPUQuota="},
	{humanize.Pattern(`Install\.`), "no task is started with a unit"},
}

func reasonFor(key string) string {
	for _, r := range reasons {
		if r.keys().MatchString(key) {
			return r.why
		}
	}
	return "no key of a task says that"
}
