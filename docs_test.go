package main

import (
	"bufio"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// pages returns the Markdown files of the repository.
func pages(t *testing.T) []string {
	return files(t, func(name string) bool { return strings.HasSuffix(name, ".md") })
}

// files returns the files of the working tree that git would see, as far as names tell: no hidden
// folder, no state folder.
func files(t *testing.T, is func(name string) bool) (found []string) {
	t.Helper()
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && strings.HasPrefix(d.Name(), ".") && name != ".ci":
			return filepath.SkipDir
		case !d.IsDir() && is(name):
			found = append(found, filepath.ToSlash(name))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// text returns what is in a file.
func text(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var fence = regexp.MustCompile("(?ms)^[ ]*```.*?^[ ]*```$")

// prose is a page without its fenced blocks.
func prose(page string) string { return fence.ReplaceAllString(page, "") }

// anchors returns the anchors of a page as GitHub makes them: of each heading, in lower case,
// without punctuation, and with -1, -2 … if an anchor comes again.
func anchors(page string) map[string]bool {
	found := map[string]bool{}
	for _, heading := range regexp.MustCompile(`(?m)^#+ +(.*)$`).FindAllStringSubmatch(prose(page), -1) {
		slug := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || r > 127 || r >= '0' && r <= '9' || r >= 'a' && r <= 'z':
				return r
			}
			return -1
		}, strings.ToLower(heading[1]))
		for name, n := slug, 1; ; n++ {
			if !found[name] {
				found[name] = true
				break
			}
			name = slug + "-" + string(rune('0'+n))
		}
	}
	return found
}

// resolves reports what is wrong with a reference to a file of the repository, seen from a folder.
func resolves(t *testing.T, from, target string) string {
	file, anchor, _ := strings.Cut(target, "#")
	name := path.Join(path.Dir(from), file)
	if file == "" {
		name = from
	}
	if _, err := os.Stat(name); err != nil {
		return "there is no " + name
	}
	if anchor != "" && !anchors(text(t, name))[anchor] {
		return name + " has no heading #" + anchor
	}
	return ""
}

func TestLinksResolve(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for _, page := range pages(t) {
		for _, found := range link.FindAllStringSubmatch(prose(text(t, page)), -1) {
			if strings.Contains(found[1], "://") || strings.HasPrefix(found[1], "mailto:") {
				continue
			}
			if wrong := resolves(t, page, found[1]); wrong != "" {
				t.Errorf("%s: %s", page, wrong)
			}
		}
	}
}

// Comments, scripts and messages name pages from the root of the repository. Each page that they
// name exists.
func TestPagesThatCodeCitesExist(t *testing.T) {
	cited := regexp.MustCompile(`(?:^|[^\w/.])((?:docs/(?:internals/)?[\w-]+|README|CONTRIBUTING)\.md(?:#[\w-]+)?)`)
	code := files(t, func(name string) bool {
		return slices.Contains([]string{".go", ".yaml", ".txtar", ".sql"}, path.Ext(name)) && name != "docs_test.go"
	})
	for _, name := range code {
		for _, found := range cited.FindAllStringSubmatch(text(t, name), -1) {
			if wrong := resolves(t, "root", found[1]); wrong != "" && !strings.HasPrefix(name, "bench/") {
				t.Errorf("%s: %s", name, wrong)
			}
		}
	}
}

// The design is docs/internals/design.md; it has sections with names, and no numbers.
func TestNothingCitesAPageThatIsNotHere(t *testing.T) {
	page := regexp.MustCompile(`\bDESIGN\b`)
	for _, name := range files(t, func(name string) bool { return name != "docs_test.go" }) {
		if page.MatchString(text(t, name)) {
			t.Errorf("%s cites DESIGN: the design is docs/internals/design.md", name)
		}
	}
}

// Each page of docs answers one question, which its first line says, and has its line in the index.
func TestEveryPageHasItsQuestionAndItsLineInTheIndex(t *testing.T) {
	index := text(t, "docs/README.md")
	for _, page := range pages(t) {
		if path.Dir(page) != "docs" {
			continue
		}
		if !regexp.MustCompile(`\A# [^\n]+\n\n\*[^*\n]+\?\*\n`).MatchString(text(t, page)) {
			t.Errorf("%s does not begin with a title and a question in italics", page)
		}
		if name := path.Base(page); name != "README.md" && strings.Count(index, "]("+name+")") != 1 {
			t.Errorf("docs/README.md has %d lines for %s", strings.Count(index, "]("+name+")"), name)
		}
	}
}

// followed is the page that follows runs through functions: every name with a dot in it is a name
// of ours.
const followed = "docs/internals/how-a-run-works.md"

// A name in backticks with a dot in it (cmd.Main, Tick.Run) is an identifier, unless it is a file
// or a key.
func TestNamesInTheDocsExist(t *testing.T) {
	known := identifiers(t)
	types := map[string]bool{}
	for name := range known {
		first, _, _ := strings.Cut(name, ".")
		types[first] = true
	}
	name := regexp.MustCompile(`^\*?([A-Za-z]\w*(?:\.[A-Za-z]\w*)+)(?:\(\))?$`)
	keys := regexp.MustCompile(`^(history|mail|retry|metrics|output|app|schedule|process|os|time|context)\.`)
	for _, page := range pages(t) {
		if page == "CHANGELOG.md" || strings.HasPrefix(page, "bench/") {
			continue
		}
		for _, code := range inline(text(t, page)) {
			found := name.FindStringSubmatch(strings.TrimPrefix(code, "*"))
			if found == nil || known[found[1]] || path.Ext(code) == ".go" || isFile(code) {
				continue
			}
			first, rest, _ := strings.Cut(found[1], ".")
			exported := rest[0] >= 'A' && rest[0] <= 'Z'
			if page == followed || types[first] && (exported || !keys.MatchString(code)) {
				t.Errorf("%s: there is no %s", page, code)
			}
		}
	}
}

// A method that has a file behind it, as `Tick.Run` (`tick/tick.go`), is in that file.
func TestMethodsInTheDocsAreInTheirFiles(t *testing.T) {
	t.Parallel()
	located := regexp.MustCompile("`\\w+\\.(\\w+)`\\s+(?:in\\s+|\\()`([a-z/]+\\.go)`")
	all := located.FindAllStringSubmatch(text(t, followed), -1)
	if len(all) < 20 {
		t.Fatalf("%s has only %d methods with a file", followed, len(all))
	}
	for _, found := range all {
		name, file := found[1], found[2]
		if _, err := os.Stat(file); err != nil { // else it is written whole
			file = "schedule/" + file
		}
		declared := regexp.MustCompile(`(?m)^(func (\([^)]*\) )?|type |var |const |\t)` + name + `\b`)
		if !declared.MatchString(text(t, file)) {
			t.Errorf("%s: %s is not in %s", followed, name, file)
		}
	}
}

// isFile reports whether a name with a dot in it is the name of a file.
func isFile(name string) bool {
	return slices.Contains([]string{".md", ".yaml", ".yml", ".db", ".json", ".jsonl", ".prom", ".log", ".txt", ".sh",
		".conf", ".service", ".timer", ".svg", ".txtar"}, path.Ext(name))
}

// The layout in docs/internals/design.md has every package of the list in imports_test.go, so that
// it cannot rot.
func TestTheLayoutHasEveryPackage(t *testing.T) {
	layout := text(t, "docs/internals/design.md")
	for _, name := range order {
		if name != "." && !strings.Contains(layout, "`"+name+"/`") {
			t.Errorf("docs/internals/design.md has no line for %s", name)
		}
	}
}

// A path in backticks that begins with one of our folders exists. A path of a Go file exists there
// or below schedule.
func TestFilesInTheDocsExist(t *testing.T) {
	ours := regexp.MustCompile(`^(cmd|schedule|mutex|docs|examples|bench|\.ci)(/[\w.*-]+)+/?$`)
	source := regexp.MustCompile(`^[\w./-]+\.(go|txtar)$`)
	exists := func(name string) bool {
		name = strings.TrimSuffix(name, "/")
		for _, pattern := range []string{name, "schedule/" + name, "cmd/testdata/" + name} {
			if found, _ := filepath.Glob(pattern); len(found) > 0 {
				return true
			}
		}
		return false
	}
	for _, page := range pages(t) {
		if page == "CHANGELOG.md" {
			continue
		}
		for _, code := range inline(text(t, page)) {
			if (ours.MatchString(code) || source.MatchString(code)) && !exists(code) {
				t.Errorf("%s: there is no %s", page, code)
			}
		}
	}
}

// inline returns the text in backticks outside of fenced blocks.
func inline(page string) (found []string) {
	for _, code := range regexp.MustCompile("`([^`\n]+)`").FindAllStringSubmatch(prose(page), -1) {
		found = append(found, code[1])
	}
	return found
}

// A code span that goes on in the next line would hide the text after it from these tests.
func TestCodeSpansEndInTheirLine(t *testing.T) {
	for _, page := range pages(t) {
		if page == "CHANGELOG.md" {
			continue
		}
		for line := range strings.Lines(prose(text(t, page))) {
			if strings.Count(line, "`")%2 != 0 {
				t.Errorf("%s: %s", page, line)
			}
		}
	}
}

// identifiers returns package.Name, Type.Method, Type.Field and package.Type.Method for everything
// that is declared at the top of a file.
func identifiers(t *testing.T) map[string]bool {
	known := map[string]bool{}
	for _, name := range files(t, func(name string) bool { return strings.HasSuffix(name, ".go") }) {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		pkg := strings.TrimSuffix(file.Name.Name, "_test")
		for _, decl := range file.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if decl.Recv == nil {
					known[pkg+"."+decl.Name.Name] = true
					continue
				}
				receiver := base(decl.Recv.List[0].Type)
				known[receiver+"."+decl.Name.Name] = true
				known[pkg+"."+receiver+"."+decl.Name.Name] = true
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					declare(known, pkg, spec)
				}
			}
		}
	}
	return known
}

// declare adds the names of a type, constant or variable.
func declare(known map[string]bool, pkg string, spec ast.Spec) {
	switch spec := spec.(type) {
	case *ast.ValueSpec:
		for _, name := range spec.Names {
			known[pkg+"."+name.Name] = true
		}
	case *ast.TypeSpec:
		known[pkg+"."+spec.Name.Name] = true
		var members *ast.FieldList
		switch of := spec.Type.(type) {
		case *ast.StructType:
			members = of.Fields
		case *ast.InterfaceType:
			members = of.Methods
		default:
			return
		}
		for _, field := range members.List {
			for _, name := range field.Names {
				known[spec.Name.Name+"."+name.Name] = true
				known[pkg+"."+spec.Name.Name+"."+name.Name] = true
			}
		}
	}
}

// base is the name of the type of a receiver.
func base(of ast.Expr) string {
	switch of := of.(type) {
	case *ast.StarExpr:
		return base(of.X)
	case *ast.IndexExpr:
		return base(of.X)
	case *ast.Ident:
		return of.Name
	}
	return ""
}

// laravelMethods are the methods of Laravel's scheduler that are no frequencies (those have a test
// beside the loader), as of 13.35.
var laravelMethods = strings.Fields(`
	command exec call job name description user timezone environments between unlessBetween when skip
	withoutOverlapping releaseOnTerminationSignals createMutexNameUsing preventOverlapsUsing onOneServer alwaysOnOneServer
	useCache runInBackground evenInMaintenanceMode evenWhenPaused withoutInterruptionPolling withAttributes group
	sendOutputTo appendOutputTo storeOutput emailOutputTo emailWrittenOutputTo emailOutputOnFailure
	before after then onSuccess onFailure thenWithOutput onSuccessWithOutput onFailureWithOutput
	pingBefore pingBeforeIf thenPing thenPingIf pingOnSuccess pingOnSuccessIf pingOnFailure pingOnFailureIf
	dueEvents nextRunDate catchUp`)

func TestTheGuideFromLaravelHasEveryMethod(t *testing.T) {
	const guide = "docs/from-laravel.md"
	page := text(t, guide)
	for _, method := range laravelMethods {
		if !regexp.MustCompile("[`>:]" + method + "[(`]|\\(" + method + ":").MatchString(page) {
			t.Errorf("%s does not name %s", guide, method)
		}
	}
}

// The README fits on a few screens. Longer texts have pages.
func TestTheReadmeIsShort(t *testing.T) {
	lines := 0
	for scanner := bufio.NewScanner(strings.NewReader(text(t, "README.md"))); scanner.Scan(); {
		lines++
	}
	if lines > 150 {
		t.Errorf("README.md has %d lines", lines)
	}
}

// The picture in the README is what sched prints.
func TestThePictureIsTrue(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("it is drawn on Linux")
	}
	if len(os.Args) == 0 {
		main() // so that the binary of this test has all of sched in it, and go test repeats no old result
	}
	if out, err := exec.Command("go", "run", "./docs/picture", "--check").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
