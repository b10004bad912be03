package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// order lists our packages, the deepest first: each imports only packages that stand before it. All
// commands share the place of cmd/*, so no command imports another.
var order = []string{
	"schedule/humanize",
	"schedule/mask",
	"schedule/clock",
	"schedule/outcome",
	"schedule/judge",
	"schedule/statedir",
	"schedule/state/sqltype",
	"schedule/state",
	"schedule/past",
	"schedule/calendar",
	"schedule/cron",
	"schedule/every",
	"schedule/yamldoc",
	"schedule/placement",
	"schedule/preset",
	"schedule",
	"schedule/assertion",
	"schedule/lint",
	"schedule/crontab/vixie",
	"schedule/crontab",
	"schedule/crontab/proof",
	"schedule/crontab/export",
	"schedule/crontab/cover",
	"schedule/kubernetes",
	"schedule/load",
	"schedule/usercrontab",
	"schedule/install",
	"mutex",
	"mutex/redis",
	"mutex/sqlstore",
	"mutex/stores",
	"schedule/envfile",
	"schedule/account",
	"schedule/cgroup",
	"schedule/process",
	"schedule/output",
	"schedule/redact",
	"schedule/preflight",
	"schedule/ticknote",
	"schedule/notify",
	"schedule/pause",
	"schedule/cluster",
	"schedule/judge/evidence",
	"schedule/run/lease",
	"schedule/run/holding",
	"schedule/run/ownrow",
	"schedule/run/triggered",
	"schedule/run/variables",
	"schedule/run/hook",
	"schedule/run",
	"schedule/run/handover",
	"schedule/run/supervise",
	"schedule/overdue",
	"schedule/recovery",
	"schedule/work",
	"schedule/tick/condition",
	"schedule/tick/plan",
	"schedule/tick/admission",
	"schedule/tick/memory",
	"schedule/tick/claims",
	"schedule/tick",
	"schedule/preview",
	"schedule/view",
	"schedule/doctor",
	"schedule/machine/oncalendar",
	"schedule/dialect",
	"schedule/machine",
	"schedule/takeover",
	"schedule/systemd",
	"schedule/systemd/export",
	"schedule/foreign",
	"schedule/forecast",
	"schedule/proposal",
	"schedule/control",
	"schedule/serve",
	"schedule/serve/web",
	"schedule/mcp",
	"cmd/terminal",
	"cmd/exit",
	"cmd/console",
	"cmd/flags",
	"cmd/app",
	"cmd/follow",
	"cmd/report",
	"cmd/*",
	"cmd",
	".",
}

// owners says which packages alone import a library or use a name; cmd/... has the packages below
// it.
var owners = map[string]string{
	"github.com/spf13":                "cmd/...",
	"golang.org/x/term":               "cmd/terminal",
	"github.com/adhocore":             "schedule/cron",
	"gopkg.in/yaml.v3":                "schedule/yamldoc",
	"github.com/pelletier":            "schedule/foreign",
	"github.com/go-redsync":           "mutex/redis",
	"github.com/redis":                "mutex/redis",
	"github.com/jackc":                "mutex/sqlstore",
	"github.com/go-sql-driver":        "mutex/sqlstore",
	"database/sql":                    "schedule/state, schedule/state/sqltype, schedule/past, mutex/sqlstore",
	"modernc.org":                     "schedule/state",
	"github.com/wneessen":             "schedule/notify",
	"net/http":                        "schedule/notify, schedule/serve, schedule/serve/web",
	"github.com/a-h":                  "schedule/serve/web",
	"html/template":                   "nobody: it keeps the linker from leaving out methods that nobody calls",
	"text/template":                   "nobody: the same",
	"net/smtp":                        "nobody: go-mail is kept up",
	"net/mail":                        "schedule/notify",
	"github.com/rogpeppe":             "tests",
	"github.com/alicebob":             "tests",
	"github.com/prometheus":           "tests",
	"github.com/emersion":             "tests",
	"github.com/getkin":               "tests",
	"github.com/joho":                 "tests",
	"github.com/santhosh-tekuri":      "tests",
	"github.com/modelcontextprotocol": "tests",
	"golang.org/x/image":              "tests",
	"os.Getenv":                       "cmd, cmd/console, cmd/app, cmd/run",
	"os.LookupEnv":                    "cmd, cmd/app, cmd/export",
	"os.Environ":                      "cmd, cmd/app, cmd/check, cmd/doctor, cmd/serve, cmd/takeover, cmd/work",
	"os.ExpandEnv":                    "cmd",
	"os.Executable":                   "cmd/app",
	"os.Hostname":                     "cmd/app",
	"os.UserHomeDir":                  "cmd/app, cmd/completion",
	"os.Stdin":                        "main alone",
	"os.Stdout":                       "main alone",
	"os.Stderr":                       "main alone",
	"os.Args":                         "cmd, cmd/exit, cmd/app",
	"os.Exit":                         "main alone",
	"C":                               "nobody: the binary is static",

	"github.com/clipperhouse": "cmd/terminal",
}

// pure are the packages that run nothing, connect to nothing and read no clock.
var pure = []string{"schedule", "schedule/mask", "schedule/assertion", "schedule/lint", "schedule/load", "schedule/forecast",
	"schedule/yamldoc", "schedule/calendar", "schedule/cron", "schedule/every", "schedule/humanize", "schedule/crontab",
	"schedule/crontab/vixie", "schedule/crontab/proof", "schedule/crontab/export", "schedule/crontab/cover", "schedule/machine/oncalendar",
	"schedule/systemd", "schedule/dialect"}

// impure lists packages and names that pure packages must not use.
var impure = []string{"os/exec", "os/signal", "net", "time.Now", "time.Since", "time.Until", "time.Sleep",
	"time.After", "time.NewTimer"}

// but lists the exceptions.
var but = map[string][]string{
	// main passes the world on to cmd.
	"main.go": {"os.Args", "os.Exit", "os.Stdin", "os.Stdout", "os.Stderr"},
	// In a process of a background run these are the run's captured output, set up by its witness.
	"schedule/run/ownrow/row.go":           {"os.Stderr"},
	"schedule/run/supervise/supervisor.go": {"os.Stderr"},
	// A task that runs as another user is started by way of sched itself.
	"schedule/process/system_darwin.go": {"os.Executable"},
}

func TestImportsRunOneWayAndEveryLibraryHasOneOwner(t *testing.T) {
	documented := map[string]bool{}
	for _, path := range sources(t) {
		dir := filepath.ToSlash(filepath.Dir(path))
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		documented[dir] = documented[dir] || file.Doc != nil
		if rank(dir) < 0 {
			t.Errorf("%s: the list above has no package %s", path, dir)
		}
		imports, names := uses(file)
		for _, imported := range imports {
			if inner, is := strings.CutPrefix(imported, "sched/"); is && rank(inner) >= rank(dir) {
				t.Errorf("%s imports %s, which stands above it", path, imported)
			}
		}
		for _, used := range append(imports, names...) {
			for what, owner := range owners {
				if within(used, what) && !owns(owner, dir) &&
					!slices.Contains(but[path], used) {
					t.Errorf("%s uses %s, which is for %s", path, used, owner)
				}
			}
			if slices.Contains(pure, dir) &&
				slices.ContainsFunc(impure, func(not string) bool { return within(used, not) }) {
				t.Errorf("%s uses %s, and %s is pure", path, used, dir)
			}
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(documented)) {
		if !documented[dir] {
			t.Errorf("the package in %s has no comment", dir)
		}
	}
}

// rank returns the place of a package in the order, or -1.
func rank(dir string) int {
	if inner, is := strings.CutPrefix(dir, "cmd/"); is && !slices.Contains(order, dir) && !strings.Contains(inner, "/") {
		dir = "cmd/*"
	}
	return slices.Index(order, dir)
}

// owns reports whether an owner of the list above is the package in dir.
func owns(owner, dir string) bool {
	return slices.ContainsFunc(strings.Split(owner, ", "), func(one string) bool {
		all, ok := strings.CutSuffix(one, "/...")
		return one == dir || ok && within(dir, all)
	})
}

// Other packages reach a store through mutex.Store: another driver changes one package.
func TestNothingOutsideMutexNamesADriver(t *testing.T) {
	for _, path := range sources(t) {
		path = filepath.ToSlash(path)
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		imports, _ := uses(file)
		for _, driver := range []string{"sched/mutex/redis", "sched/mutex/sqlstore"} {
			if slices.Contains(imports, driver) && path != "mutex/stores/stores.go" {
				t.Errorf("%s names %s", path, driver)
			}
		}
	}
}

// The proof of an import is worth something only if its evaluator shares nothing with the evaluator
// that it checks.
func TestTheEvaluatorOfTheProofImportsTheStandardLibraryAlone(t *testing.T) {
	found := 0
	for _, path := range sources(t) {
		if filepath.ToSlash(filepath.Dir(path)) != "schedule/crontab/vixie" {
			continue
		}
		found++
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		imports, _ := uses(file)
		for _, imported := range imports {
			if first, _, _ := strings.Cut(imported, "/"); first == "sched" || strings.Contains(first, ".") {
				t.Errorf("%s imports %s", path, imported)
			}
		}
	}
	if found == 0 {
		t.Error("there is no evaluator")
	}
}

// openers are the functions that open, in the packages that know where the database is. None of
// them opens the database.
var openers = []string{"Owners.lockNew", "Owner.revive", "Owners.Alive", "Owners.RemoveStale", "file.exclusively",
	"tryLock"}

// An ordinary open of sched.db, or of -wal or -shm beside it, loses the locks of SQLite: the kernel
// drops the locks that a process has on a file when the process closes any descriptor of the file
// (fcntl(2)). Another process may then overwrite what a third one has committed.
func TestSQLiteAloneOpensTheDatabase(t *testing.T) {
	found := map[string]bool{}
	for _, path := range sources(t) {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if !namesDatabase(file) && filepath.ToSlash(filepath.Dir(path)) != "schedule/state" {
			continue
		}
		for _, opener := range opening(file) {
			found[opener] = true
			if !slices.Contains(openers, opener) {
				t.Errorf("%s: %s opens a file, and this file knows where the database is", path, opener)
			}
		}
	}
	for _, opener := range openers {
		if !found[opener] {
			t.Errorf("%s opens nothing", opener)
		}
	}
	const bad = `package p; func (d *DB) backup() { os.Stat(d.path); io.Copy(to, must(os.Open(d.path + "-wal"))) }`
	file, err := parser.ParseFile(token.NewFileSet(), "", bad, parser.SkipObjectResolution)
	if err != nil || !namesDatabase(file) || !slices.Equal(opening(file), []string{"DB.backup"}) {
		t.Errorf("%v, %t, %q", err, namesDatabase(file), opening(file))
	}
}

// namesDatabase reports whether a file has the name of the database, or the end of a name beside
// it.
func namesDatabase(file *ast.File) (names bool) {
	ast.Inspect(file, func(n ast.Node) bool {
		if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING {
			for _, name := range []string{"sched.db", "-wal\"", "-shm\"", "-journal\""} {
				names = names || strings.Contains(text.Value, name)
			}
		}
		return true
	})
	return names
}

// opening returns the functions of a file that open a file by its name, a method as Type.Name.
func opening(file *ast.File) (functions []string) {
	for _, declared := range file.Decls {
		function, ok := declared.(*ast.FuncDecl)
		if !ok {
			continue
		}
		opens := false
		ast.Inspect(function, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				x, isName := s.X.(*ast.Ident)
				opens = opens || isName && slices.Contains([]string{"os", "statedir", "unix", "syscall", "ioutil"}, x.Name) &&
					slices.ContainsFunc([]string{"Open", "Create", "ReadFile", "WriteFile", "WriteSynced", "Replace",
						"Truncate", "Creat"}, func(begin string) bool { return strings.HasPrefix(s.Sel.Name, begin) })
			}
			return true
		})
		if !opens {
			continue
		}
		name := function.Name.Name
		if function.Recv != nil {
			of := function.Recv.List[0].Type
			if pointer, ok := of.(*ast.StarExpr); ok {
				of = pointer.X
			}
			name = of.(*ast.Ident).Name + "." + name
		}
		functions = append(functions, name)
	}
	return functions
}

// sources returns the Go files of the program, without tests and what helps them, benchmarks, the
// picture of the docs and the tools of packaging.
func sources(t *testing.T) (paths []string) {
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (path == "bench" || path == "docs" || path == "findings" || path == "spec" || path == "packaging" ||
			path == "testing" || path != "." && strings.HasPrefix(d.Name(), ".")):
			return filepath.SkipDir
		case strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") && path != "schedtrace.go" &&
			path != "cmd/testclock.go":
			paths = append(paths, path)
		}
		return nil
	})
	if err != nil || len(paths) == 0 {
		t.Fatalf("no sources: %v", err)
	}
	return paths
}

// uses returns the imports of a file, and the names that it uses of them, as path.Name.
func uses(file *ast.File) (imports, names []string) {
	paths := map[string]string{}
	for _, spec := range file.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		name := path[strings.LastIndex(path, "/")+1:]
		if spec.Name != nil {
			name = spec.Name.Name
		}
		imports, paths[name] = append(imports, path), path
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && paths[x.Name] != "" {
				names = append(names, paths[x.Name]+"."+s.Sel.Name)
			}
		}
		return true
	})
	return imports, names
}

// within reports whether used is the package what, or a package below it.
func within(used, what string) bool { return used == what || strings.HasPrefix(used, what+"/") }
