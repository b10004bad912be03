package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"slices"
	"strings"
	"testing"
)

// This file measures whether a line of code knows its room: no files of a package reach each other
// by the names that they use, and a type and all its methods stand in one file. A reader of a file
// in a circle would have to read the whole circle.

// A room is the measure of a package.
type room struct {
	inCircles int // files that reach each other
	largest   int // files of the largest circle
	away      int // methods in another file than their type
}

const (
	maxFileLines     = 800
	maxFunctionLines = 60
)

// long names functions that are longer than maxFunctionLines: tables.
var long = map[string]bool{
	"schedule/load/keys.go taskRows":      true,
	"schedule/load/schema.go schemaKinds": true,
	"schedule/serve/routes.go routes":     true,
}

func TestNoFilesReachEachOtherAndNoMethodIsAway(t *testing.T) {
	t.Parallel()
	for dir, names := range productFolders(t) {
		if got := measure(t, names); got != (room{}) {
			t.Errorf("%s has %+v", dir, got)
		}
	}
}

func TestFilesAndFunctionsAreAsLongAsAThought(t *testing.T) {
	t.Parallel()
	set := token.NewFileSet()
	for _, name := range files(t, isProduct) {
		body := text(t, name)
		if n := strings.Count(body, "\n"); n > maxFileLines {
			t.Errorf("%s has %d lines", name, n)
		}
		parsed, err := parser.ParseFile(set, name, body, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil || long[name+" "+fn.Name.Name] {
				continue
			}
			if n := set.Position(fn.End()).Line - set.Position(fn.Pos()).Line + 1; n > maxFunctionLines {
				t.Errorf("%s: %s has %d lines", name, fn.Name.Name, n)
			}
		}
	}
}

// productFolders returns the files of the product by folder. It leaves out files that only another
// system builds, because they declare the same names.
func productFolders(t *testing.T) map[string][]string {
	folders := map[string][]string{}
	for _, name := range files(t, isProduct) {
		if !strings.HasSuffix(name, "_darwin.go") && !strings.HasSuffix(name, "_other.go") {
			folders[path.Dir(name)] = append(folders[path.Dir(name)], name)
		}
	}
	return folders
}

// measure reads the files of one package. It resolves only names of the package itself.
func measure(t *testing.T, names []string) (m room) {
	set := token.NewFileSet()
	var parsed []*ast.File
	for _, name := range names {
		file, err := parser.ParseFile(set, name, text(t, name), parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, file)
	}
	info := types.Info{Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: emptyPackages{}, Error: func(error) {}} // errors: of other packages
	pkg, _ := config.Check("room", set, parsed, &info)
	file := func(at token.Pos) string { return set.Position(at).Filename }

	reaches := map[string]map[string]bool{}
	for name, used := range info.Uses {
		from, isOurs := file(name.Pos()), used.Pkg() == pkg && used.Pos().IsValid()
		if !isOurs || from == file(used.Pos()) {
			continue // a local name is declared in the file that uses it
		}
		if reaches[from] == nil {
			reaches[from] = map[string]bool{}
		}
		reaches[from][file(used.Pos())] = true
	}
	for _, circle := range circlesOf(reaches, names) {
		m.inCircles += len(circle)
		m.largest = max(m.largest, len(circle))
	}
	for _, declared := range info.Defs {
		method, ok := declared.(*types.Func)
		if !ok || method.Signature().Recv() == nil {
			continue
		}
		receiver := method.Signature().Recv().Type()
		if pointer, ok := receiver.(*types.Pointer); ok {
			receiver = pointer.Elem()
		}
		named, ok := receiver.(*types.Named)
		if ok && !types.IsInterface(named) && file(named.Obj().Pos()) != file(method.Pos()) {
			m.away++
		}
	}
	return m
}

// emptyPackages gives each import a package without names.
type emptyPackages map[string]*types.Package

func (e emptyPackages) Import(name string) (*types.Package, error) {
	if e[name] == nil {
		e[name] = types.NewPackage(name, path.Base(name))
		e[name].MarkComplete()
	}
	return e[name], nil
}

// circlesOf returns the sets of files that reach each other, directly or through others.
func circlesOf(reaches map[string]map[string]bool, names []string) (circles [][]string) {
	reachable := map[string]map[string]bool{}
	for _, name := range names {
		found, todo := map[string]bool{}, []string{name}
		for len(todo) > 0 {
			next := todo[0]
			todo = todo[1:]
			for to := range reaches[next] {
				if !found[to] {
					found[to] = true
					todo = append(todo, to)
				}
			}
		}
		reachable[name] = found
	}
	seen := map[string]bool{}
	for _, name := range names {
		circle := slices.DeleteFunc(slices.Clone(names),
			func(other string) bool { return !reachable[name][other] || !reachable[other][name] })
		if len(circle) > 1 && !seen[name] {
			circles = append(circles, circle)
		}
		for _, other := range circle {
			seen[other] = true
		}
	}
	return circles
}
