package preflight

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestLinesThatNeedNoShell(t *testing.T) {
	for _, line := range []string{
		"/srv/app/x arg",
		`php artisan 'a b' "c $d ${e}" >> log 2>&1`,
		"cd /srv && ./x | grep -v y || exit 1",
		"x $(date +%F) \"$(hostname -s)\" &",
		"A=1 B=$HOME x $1 $@ $?; y\n\n# a comment\nz # another",
		`[ -f "$x" ] && find . -exec rm {} \;`,
		"x >&2 < /dev/null",
	} {
		if !isSurelyRead(line) {
			t.Errorf("%q: the shell is asked", line)
		}
	}
	for _, line := range []string{
		"", "-x", "+x", "a &&", "| a", "a ;; b", "; a", "a & ; b", "(a)", "a)", "f() { a; }", "a 'b", `a "b`, `a \`,
		"if a", "A=1 if a", "2>f then", "{ a", "} b", "! a", "[[ a ]]", "a[1 2]=x", "a `b`", "$((1))", "$[1]", "${a:-b}",
		"${a", "$(a", "$(if a)", "$(a # b)", "$'a'", `$"a"`, "a <<x", "a <<<x", "a >|f", "a &>f", "a >&f", "a > 2>f", "a |& b",
		"a >", "a > # f", "a\r", "A=1", ">f", "a $$", "a >!f", "a \u00a0", "time -p a",
	} {
		if isSurelyRead(line) {
			t.Errorf("%q: no shell is asked", line)
		}
	}
}

func TestProgramsBehindTheFirst(t *testing.T) {
	for line, want := range map[string]string{
		"echo hello; report":                 "report",
		"tool;other":                         "other",
		"cd /srv/app && composer install":    "composer",
		"mysqldump shop | gzip > shop.gz":    "gzip",
		"true &&\n\treport\nsend $(which x)": "report send",
		"LANG=C a; B=1 b x":                  "b",

		// An earlier command may have made the file, or have gone elsewhere.
		"make && ./report": "",
		"cd x; bin/report": "",

		// These ask whether the program is there, or change where it is looked for.
		"command -v wp && wp cron":     "",
		"[ -x /opt/wp ] && wp cron":    "",
		"which wp && wp cron":          "",
		"a || b":                       "",
		"a && b || c":                  "b",
		"a; . ./env; b":                "",
		"a; PATH=/opt/bin:$PATH b; c":  "",
		"a; export PATH=/opt/bin && b": "",

		"if a; then b; fi": "",
		"$HOME/a; $b":      "",
		"a":                "",
	} {
		if got := strings.Join(laterPrograms(line), " "); got != want {
			t.Errorf("%q starts %q later, not %q", line, got, want)
		}
	}
}

// testShells returns commands that start the shells of this machine, and links that are called sh.
func testShells(t *testing.T) (shells []string) {
	for _, name := range []string{"sh", "dash", "bash", "ksh", "mksh", "yash", "busybox", "zsh"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		link := filepath.Join(t.TempDir(), "sh")
		if err := os.Symlink(path, link); err != nil {
			t.Fatal(err)
		}
		if name != "busybox" && name != "zsh" {
			shells = append(shells, path)
		}
		shells = append(shells, link)
	}
	return shells
}

// A line that we read without a shell is one that each shell reads. The lines are made of parts
// that have a meaning to shells, and parts that break them.
func TestShellsReadEachLineThatNeedsNoShell(t *testing.T) {
	parts := strings.Split("a b if then fi do done case in esac { } {} ! [ ] [[ ]] ( ) $( $(( )) ; & && | || "+
		"> >> < >& >&1 2> 2>&1 <( << &> 1 10 = X=1 X= a= x[ -x +x ~ * ? ^ % @ # a#b $ $a $1 $# $? $@ $$ $- ${a} ${ ${a:-b} ${#a} "+
		"' '' 'b' \" \"\" \"b\" ` \\ \\\\ \\' \\\" \\; \\( $' $\" time function for while select coproc export declare a() f()", " ")
	parts = append(parts, " ", " ", " ", " ", " ", " ", "  ", "\t", "\n", "a ", " b", " $(a ", "; b")
	random := rand.New(rand.NewPCG(56, 1))
	accepted, want := 0, 150
	if testing.Short() {
		want = 30
	}
	t.Parallel()
	shells := testShells(t)
	for accepted < want {
		line := ""
		for range 1 + random.IntN(12) {
			line += parts[random.IntN(len(parts))]
		}
		if !isSurelyRead(line) || strings.Trim(line, "ab \t\n") == "" {
			continue
		}
		accepted++
		for _, shell := range shells {
			if output, err := exec.Command(shell, "-n", "-c", line).CombinedOutput(); err != nil {
				t.Errorf("%s cannot read %q: %v %s", shell, line, err, output)
			}
		}
	}
}
