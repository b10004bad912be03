package systemd

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestMain is also the small program that shows its arguments.
func TestMain(m *testing.M) {
	if os.Getenv("SHOW_ARGUMENTS") != "" {
		fmt.Printf("%q\n", os.Args[1:])
		return
	}
	os.Exit(m.Run())
}

// Each line has what systemd.service(5) says that the program gets. PROG is a program that shows
// its arguments.
func TestTheProgramGetsTheArgumentsOfSystemd(t *testing.T) {
	t.Parallel()
	set := map[string]string{"ONE": "one", "TWO": "two two", "STAR": "* a*", "MIXED": `'two two' "x y" too`, "EMPTY": "",
		"BACK": `a\ b c\\d`}
	for _, test := range []struct {
		line string
		want [][]string // of each start
	}{
		{`PROG`, [][]string{{}}},
		{`PROG a  b	c`, [][]string{{"a", "b", "c"}}},
		{`PROG 'a b' "c d" e" f "g`, [][]string{{"a b", "c d", "e f g"}}},
		{`PROG "it's" 'say "x"'`, [][]string{{"it's", `say "x"`}}},
		{`PROG "" ''`, [][]string{{"", ""}}},
		{`PROG $ONE $TWO ${TWO}`, [][]string{{"one", "two", "two", "two two"}}},
		{`PROG $MIXED ${MIXED}`, [][]string{{"two two", "x y", "too", `'two two' "x y" too`}}},
		{`PROG $EMPTY ${EMPTY} ${ABSENT} $ABSENT`, [][]string{{"", ""}}},
		{`PROG --one=${ONE}x${TWO} a$ONE $ONE/b`, [][]string{{"--one=onextwo two", "a$ONE"}}},
		{`PROG '${TWO}' "$ONE" '$TWO'`, [][]string{{"two two", "one", "two", "two"}}},
		{`PROG $$ONE $$ a$$b $${ONE}`, [][]string{{"$ONE", "$", "a$b", "${ONE}"}}},
		{`:PROG $ONE ${TWO} $$`, [][]string{{"$ONE", "${TWO}", "$$"}}},
		{`PROG $STAR ${STAR} * ? [a-z] ~ {a,b}`, [][]string{{"*", "a*", "* a*", "*", "?", "[a-z]", "~", "{a,b}"}}},
		{`PROG $BACK ${BACK}`, [][]string{{"a b", `c\d`, `a\ b c\\d`}}},
		{`PROG a&&b | c > /tmp/x 2>&1 ; PROG d`, [][]string{{"a&&b", "|", "c", ">", "/tmp/x", "2>&1"}, {"d"}}},
		{`PROG a \; b; c ;d`, [][]string{{"a", ";", "b;", "c", ";d"}}},
		{`PROG "a\tb" c\x20d \x41\102\u00e9 'e\'f' g\sh \"`, [][]string{{"a\tb", "c d", "ABé", "e'f", "g h", `"`}}},
		{`PROG \d "\q" \w+`, [][]string{{`\d`, `\q`, `\w+`}}},
		{`PROG %n %N %p %i %I %j %% %t %S 100%%`, [][]string{{"job@a-b\\x2dc.service", "job@a-b\\x2dc", "job", "a-b\\x2dc",
			"a/b-c", "job", "%", "/run", "/var/lib", "100%"}}},
		{`PROG "two\nlines" '` + "`id`" + ` $(id)'`, [][]string{{"two\nlines", "`id` $(id)"}}},
		{`PROG "${ONE} \"q\" ` + "`x`" + ` \\ !"`, [][]string{{`one "q" ` + "`x`" + ` \ !`}}},
		{`@PROG other a`, [][]string{{"a"}}},
		{`+PROG a`, [][]string{{"a"}}},
		{`-!!PROG a`, [][]string{{"a"}}},
		{`PROG ${ONE-x} ${} a${`, [][]string{{"", "", "a${"}}},
		{`echo -e a\\tb`, [][]string{{`-e`, `a\tb`}}},
		{`PROG é 日本 'ü x'`, [][]string{{"é", "日本", "ü x"}}},
	} {
		env := variables{known: set}
		all, err := readCommands(strings.ReplaceAll(test.line, "PROG", os.Args[0]),
			specifiersOf(`job@a-b\x2dc.service`, "/etc/systemd/system/job@.service", ""), env)
		if err != nil {
			t.Errorf("%s: %v", test.line, err)
			continue
		}
		var want strings.Builder
		for _, arguments := range test.want {
			fmt.Fprintf(&want, "%q\n", arguments)
		}
		if strings.HasPrefix(test.line, "echo ") { // the program, and not what the shell has under its name
			if !strings.HasPrefix(all[0].shell, "/usr/bin/env echo ") {
				t.Errorf("%s became %s", test.line, all[0].shell)
			}
			all[0].shell = strings.Replace(all[0].shell, "/usr/bin/env echo", os.Args[0], 1)
		}
		if got := run(t, joined(all), set); got != want.String() {
			t.Errorf("%s became %s, which got\n%s, not\n%s", test.line, joined(all), got, want.String())
		}
	}
}

func run(t *testing.T, shell string, set map[string]string) string {
	t.Helper()
	command := exec.Command("/bin/sh", "-c", shell)
	command.Dir = t.TempDir()
	if err := os.WriteFile(command.Dir+"/a1", nil, 0o600); err != nil { // for patterns to find
		t.Fatal(err)
	}
	command.Env = []string{"SHOW_ARGUMENTS=1"}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		command.Env = append(command.Env, name+"="+set[name])
	}
	out, err := command.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v", shell, err)
	}
	return string(out)
}

// With a file of variables nobody knows their values, so the shell has to split them.
func TestVariablesOfFilesAreSplitAndNoPatterns(t *testing.T) {
	t.Parallel()
	all, err := readCommands(os.Args[0]+" $OPTS ${OPTS}", specifiersOf("a.service", "", ""), variables{hasFiles: true})
	if err != nil {
		t.Fatal(err)
	}
	got := run(t, joined(all), map[string]string{"OPTS": "-a *"})
	if want := fmt.Sprintf("%q\n", []string{"-a", "*", "-a *"}); got != want {
		t.Errorf("got %s, not %s", got, want)
	}
}

// As with systemd the first failure ends them all, but for commands with a -.
func TestTheFirstFailureEndsTheCommands(t *testing.T) {
	t.Parallel()
	for lines, want := range map[string]string{
		"/bin/echo a ; /bin/false ; /bin/echo b":  "a\n1",
		"/bin/echo a ; -/bin/false ; /bin/echo b": "a\nb\n0",
		"-/bin/false":                                "0",
		"/bin/false ; -/bin/echo c":                  "1",
		"-/bin/sh -c 'kill $$$$' ; /bin/echo d":      "d\n0",
		"/bin/sh -c 'exit 3'":                        "3",
		`/bin/sh -c "echo $$((1+1)); exit 0" ; true`: "2\n0",
	} {
		all, err := readCommands(lines, specifiersOf("a.service", "", ""), variables{})
		if err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command("/bin/sh", "-c", joined(all)).Output()
		code := 0
		if failed, ok := err.(*exec.ExitError); ok {
			code = failed.ExitCode()
		}
		if got := fmt.Sprint(string(out), code); got != want {
			t.Errorf("%s became %s: %q, not %q", lines, joined(all), got, want)
		}
	}
}

func TestLinesThatNoShellCanSayAreRefused(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		`/bin/a "b`:     "a quote is not closed",
		`/bin/a b\`:     `it ends with a single \`,
		`/bin/a %d/x`:   "%d is known to systemd alone",
		`|/bin/a`:       "| starts the shell of its user",
		`-@ x`:          "it names no program",
		`@/bin/a`:       "with @ a second word has to follow",
		`/bin/a ; @- b`: "it names no program",
	} {
		_, err := readCommands(line, specifiersOf("a.service", "", ""), variables{})
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, not %s", line, err, want)
		}
	}
}

// The shell gives each text to the program as it is.
func FuzzAQuotedWordStaysAWord(f *testing.F) {
	for _, word := range []string{"", "a b", "'", `"`, `\`, "$x", "${x}", "`", "\n", "é", "-n", "*", "$$", "a${x"} {
		f.Add(word)
	}
	f.Fuzz(func(t *testing.T, word string) {
		if strings.ContainsRune(word, 0) {
			t.Skip()
		}
		for _, shell := range []string{quoted(word), inDoubleQuotes(word, false), inDoubleQuotes(strings.ReplaceAll(word, "$", "$$"), true)} {
			if got := run(t, os.Args[0]+" "+shell, nil); got != fmt.Sprintf("%q\n", []string{word}) {
				t.Errorf("%q became %s: %s", word, shell, got)
			}
		}
	})
}
