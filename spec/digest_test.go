package spec

import (
	"bytes"
	"crypto/sha256"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var read = flag.Bool("read", false, "write spec/digests: the models were read again beside the code")

// A source is a part of the code of which a model is a model: texts of a package that match, or
// functions of a file.
type source struct {
	files     string         // a pattern, from the root of the repository
	texts     *regexp.Regexp // string literals that match; nil for none
	functions []string       // a method is Type.Name
}

var (
	rows    = regexp.MustCompile(`(?i)\b(UPDATE run|INTO run|DELETE FROM run|INTO hook|UPDATE hook|FROM hook|FROM owner|INTO owner|phase = '(ready|planned)')`)
	redsync = source{files: "go.mod", texts: regexp.MustCompile(`go-redsync/redsync/v4`)}
	inState = source{files: "schedule/state/*.go", texts: rows,
		functions: []string{"Take", "TakeIntoPlan", "putBack", "HandOver", "GiveBack", "WaitFor", "Acquire", "Hold", "Start",
			"Fork", "AwaitRetry", "Defer", "Settle", "End", "Step.make", "Step.apply", "Step.update"}}
	onRedis = source{files: "mutex/redis/*.go",
		functions: []string{"Store.take", "Store.attempt", "Store.ownValue", "Store.confirm", "redsyncMutex",
			"call.SetNX", "call.Eval", "Store.Close", "lease.Renew", "lease.wasBroken", "lease.extend"},
		texts: regexp.MustCompile(`redis\.call`)}
	inSQL = source{files: "mutex/sqlstore/*.go",
		functions: []string{"Store.takeRow", "attempt.await", "Store.undo", "lease.Renew", "lease.takeAgain"},
		texts:     regexp.MustCompile(`^ ?(INSERT INTO|UPDATE|DELETE FROM|WITH taken|WITH renewed|SELECT name|ON )`)}
)

// sources says of what each model is a model. Whole files would be too much: what prints a message
// changes often.
var sources = map[string][]source{
	"plan":  {inState, {files: "mutex/file.go", functions: []string{"Files.acquire", "Files.lockFile"}}},
	"claim": {onRedis, inSQL, redsync},
	"lease": {onRedis, inSQL, redsync, {files: "schedule/run/lease/lease.go",
		functions: []string{"Renewer.renew", "Renewer.judge", "Renewer.stopInTime", "Renewer.HeldToStart"}}},
	"wait":    {inState, {files: "mutex/pool.go", functions: []string{"Need.Acquire", "Need.takeSeat", "Need.acquireSeat"}}},
	"redlock": {onRedis, redsync},
}

// A statement that changes may change what the protocol does. Then its model has to be read again,
// and the other way round.
func TestTheModelsWereReadBesideTheCode(t *testing.T) {
	var now []string
	known := digests(t)
	for model, of := range sources {
		code := digest(parts(t, of)...)
		text, err := os.ReadFile(model + ".pml")
		if err != nil {
			t.Fatal(err)
		}
		line := fmt.Sprintf("%s %s %s", model, code, digest(string(text)))
		now = append(now, line)
		was := strings.Fields(known[model])
		switch is := strings.Fields(line); {
		case *read || slices.Equal(was, is):
		case len(was) != 3:
			t.Errorf("spec/digests has no line for %s", model)
		case was[1] != is[1]:
			t.Errorf("the code of which spec/%s.pml is a model has changed: read the model again beside %s; then `bash spec/run %s` and `go test ./spec -read`",
				model, places(of), model)
		default:
			t.Errorf("spec/%s.pml has changed: read it again beside %s; then `bash spec/run %s` and `go test ./spec -read`", model, places(of), model)
		}
	}
	if *read {
		slices.Sort(now)
		text := "# Model, digest of the code that it is a model of, digest of the model: go test ./spec -read\n" +
			strings.Join(now, "\n") + "\n"
		if err := os.WriteFile("digests", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func digests(t *testing.T) map[string]string {
	text, err := os.ReadFile("digests")
	if err != nil && !*read {
		t.Fatal(err)
	}
	known := map[string]string{}
	for line := range strings.Lines(string(text)) {
		model, _, _ := strings.Cut(line, " ")
		known[model] = line
	}
	return known
}

func digest(parts ...string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(parts, "\x00"))))[:16]
}

func places(of []source) string {
	var names []string
	for _, s := range of {
		if s.files != "go.mod" {
			names = append(names, s.files)
		}
	}
	return strings.Join(names, ", ")
}

// parts returns the texts and the functions of sources, without comments, in an order that does not
// depend on where they stand.
func parts(t *testing.T, of []source) (parts []string) {
	t.Helper()
	for _, s := range of {
		names, _ := filepath.Glob(filepath.Join("..", s.files))
		left := slices.Clone(s.functions)
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			if filepath.Base(name) == "go.mod" {
				text, _ := os.ReadFile(name)
				for line := range strings.Lines(string(text)) {
					if s.texts.MatchString(line) {
						parts = append(parts, strings.TrimSpace(line))
					}
				}
				continue
			}
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.BasicLit:
					text, _ := strconv.Unquote(n.Value)
					if s.texts != nil && n.Kind == token.STRING && s.texts.MatchString(text) {
						parts = append(parts, strings.Join(strings.Fields(text), " "))
					}
				case *ast.FuncDecl:
					if i := slices.Index(left, nameOf(n)); i >= 0 {
						left = slices.Delete(left, i, i+1)
						var code bytes.Buffer
						printer.Fprint(&code, files, n.Body)
						parts = append(parts, strings.Join(strings.Fields(code.String()), " "))
					}
				}
				return true
			})
		}
		for _, missing := range left {
			t.Errorf("%s has no function %s any more, of which a model is a model: see sources in spec/digest_test.go",
				s.files, missing)
		}
	}
	slices.Sort(parts)
	return slices.Compact(parts)
}

func nameOf(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	receiver := f.Recv.List[0].Type
	if star, is := receiver.(*ast.StarExpr); is {
		receiver = star.X
	}
	name, _ := receiver.(*ast.Ident)
	return fmt.Sprint(name, ".", f.Name.Name)
}

// Every function that a model names must exist.
func TestTheModelsNameFunctionsThatExist(t *testing.T) {
	known := map[string]bool{}
	for _, root := range []string{"../schedule", "../mutex"} {
		filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, decl := range file.Decls {
				if f, is := decl.(*ast.FuncDecl); is {
					known[file.Name.Name+"."+nameOf(f)] = true
				}
			}
			return nil
		})
	}
	name := regexp.MustCompile(`\b(?:tick|plan|claims|state|run|holding|ownrow|hook|handover|supervise|lease|redis|sqlstore|mutex)\.(?:[A-Za-z]+\.)?[A-Za-z]+\b`)
	for model := range sources {
		text, err := os.ReadFile(model + ".pml")
		if err != nil {
			t.Fatal(err)
		}
		head, _, _ := strings.Cut(string(text), "*/")
		_, head, _ = strings.Cut(head, "A model of:")
		head, _, _ = strings.Cut(head, "\n *\n")
		found := name.FindAllString(head, -1)
		for _, f := range found {
			if !known[f] {
				t.Errorf("spec/%s.pml is a model of %s, which is not there", model, f)
			}
		}
		if len(found) == 0 {
			t.Errorf("spec/%s.pml names no function", model)
		}
	}
}

// The patches that break a rule of the code on purpose (spec/compare) change what is there: each
// part of a file that they replace is in it, once.
func TestThePatchesThatBreakTheCodeApply(t *testing.T) {
	patches, _ := filepath.Glob("broken/*.patch")
	if len(patches) == 0 {
		t.Fatal("there are no patches")
	}
	for _, name := range patches {
		patch, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		head, rest, _ := strings.Cut(string(patch), "\n+++ b/")
		path, rest, _ := strings.Cut(rest, "\n")
		code, err := os.ReadFile(filepath.Join("..", path))
		if err != nil || !strings.HasPrefix(head, "--- a/"+path) {
			t.Fatalf("%s is of %q: %v", name, path, err)
		}
		for _, hunk := range strings.Split("\n"+rest, "\n@@ ")[1:] {
			old := ""
			for line := range strings.Lines(hunk[strings.Index(hunk, "\n")+1:]) {
				if line[0] != '+' {
					old += line[1:]
				}
			}
			if n := strings.Count(string(code), strings.TrimSuffix(old, "\n")); n != 1 {
				t.Errorf("%s has %d times what %s replaces:\n%s", path, n, name, old)
			}
		}
	}
}
