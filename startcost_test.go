package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"strings"
	"testing"
)

// cheap are the functions that package variables may call: they only make a value of a few words.
// Other work waits for its first use, in a sync.OnceValue.
var cheap = map[string]bool{
	"errors.New": true, "humanize.Pattern": true, "sync.OnceValue": true, "sync.OnceFunc": true, "sync.OnceValues": true,
	"strings.NewReplacer": true, "time.Date": true, "time.Unix": true, "log.New": true, "maphash.MakeSeed": true,
	"slices.Clone": true, "append": true, "new": true, "string": true, "list": true, "load.Modeline": true,
	"goredis.Nil.Error": true,
}

// maxInitialEntries is how many entries a map of a package may have. With more entries the map is
// filled at each start of sched.
const maxInitialEntries = 8

// Each tick, each supervisor and each hook is a start of sched. All of them pay for what the
// packages do before main.
func TestPackagesDoNothingWhenSchedStarts(t *testing.T) {
	t.Parallel()
	for _, name := range files(t, isProduct) {
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, text(t, name), parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" && !strings.HasPrefix(text(t, name), "//go:build sched") {
				t.Errorf("%s: init", set.Position(fn.Pos()))
			}
			if vars, ok := d.(*ast.GenDecl); ok && vars.Tok == token.VAR {
				ast.Inspect(vars, func(n ast.Node) bool { return isCheap(t, set, n) })
			}
		}
	}
}

// isCheap reports an expression of a package variable that does work. It returns whether the parts
// of the expression may do work, too.
func isCheap(t *testing.T, set *token.FileSet, n ast.Node) bool {
	switch n := n.(type) {
	case *ast.FuncLit:
		return false
	case *ast.CompositeLit:
		if _, isMap := n.Type.(*ast.MapType); isMap && len(n.Elts) > maxInitialEntries {
			t.Errorf("%s: a map of %d entries is filled at each start", set.Position(n.Pos()), len(n.Elts))
		}
	case *ast.CallExpr:
		_, isConversion := n.Fun.(*ast.ArrayType)
		if called := types.ExprString(n.Fun); !isConversion && !cheap[called] {
			t.Errorf("%s: %s is called at each start", set.Position(n.Pos()), called)
		}
	}
	return true
}
