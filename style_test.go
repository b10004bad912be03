package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// widest is how many columns a line of prose has at most, in comments and on pages.
const widest = 100

// columns returns how wide a line is in an editor whose tabs are four columns.
func columns(line string) int {
	return utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    "))
}

// comment matches a line that is a comment alone. Comments behind code, indented text in a comment
// (a table, an example), and directives are not prose.
var comment = regexp.MustCompile(`^\t*// \S`)

// output begins the output of an example.
var output = regexp.MustCompile(`^\t*// (Output|Unordered output):`)

func TestCommentsAreOneHundredColumnsWideAtMost(t *testing.T) {
	t.Parallel()
	for _, name := range files(t, func(name string) bool { return strings.HasSuffix(name, ".go") }) {
		printed := false
		for i, line := range strings.Split(text(t, name), "\n") {
			printed = output.MatchString(line) || printed && strings.HasPrefix(strings.TrimLeft(line, "\t"), "//")
			if comment.MatchString(line) && !printed && columns(line) > widest {
				t.Errorf("%s:%d has %d columns", name, i+1, columns(line))
			}
		}
	}
}

// widestCode is how many columns a line of code has at most.
const widestCode = 120

// A text is not broken, so that people can search for it: texts in backquotes count as nothing, and
// a line that begins with a text may be as wide as the text.
func TestCodeIsOneHundredTwentyColumnsWideAtMost(t *testing.T) {
	t.Parallel()
	for _, name := range files(t, isProduct) {
		code := tokens.ReplaceAllStringFunc(text(t, name), func(token string) string {
			if token[0] != '`' {
				return token
			}
			return "``" + strings.Repeat("\n", strings.Count(token, "\n"))
		})
		for i, line := range strings.Split(code, "\n") {
			beginsWithText := strings.HasPrefix(strings.TrimLeft(line, "\t"), `"`)
			if columns(line) > widestCode && !beginsWithText {
				t.Errorf("%s:%d has %d columns", name, i+1, columns(line))
			}
		}
	}
}

// tokens matches comments, texts and runes whole: a backquote inside a comment or a text begins
// nothing.
var tokens = regexp.MustCompile("//.*|\"(\\\\.|[^\"\\\\])*\"|'(\\\\.|[^'\\\\])+'|`[^`]*`")

var product = regexp.MustCompile(`^(main\.go|(cmd|schedule|mutex)/.*\.go)$`)

// isProduct leaves out tests, and code that templ generates: people read the template.
func isProduct(name string) bool {
	return product.MatchString(name) && !strings.HasSuffix(name, "_test.go") && !strings.HasSuffix(name, "_templ.go")
}

// A row of a table and an address cannot be broken.
func TestPagesAreOneHundredColumnsWideAtMost(t *testing.T) {
	t.Parallel()
	for _, name := range pages(t) {
		for i, line := range strings.Split(prose(text(t, name)), "\n") {
			rest := strings.TrimLeft(line, " ")
			if strings.HasPrefix(rest, "|") || strings.HasPrefix(line, "    ") || strings.Contains(line, "](http") ||
				strings.Contains(line, "![") {
				continue
			}
			if columns(line) > widest {
				t.Errorf("%s has a line of %d columns after line %d of its prose: %.60s…", name, columns(line), i, line)
			}
		}
	}
}

// refused are words that make a reader stop. Say what acts, and repeat the noun.
var refused = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`(?i)\b(that|those) of\b`), "repeat the noun"},
	{regexp.MustCompile(`, since (it|they|the|a|an|no|we|each|what|that|this|there|only|nobody)\b|[.:] Since\b`), "write because"},
	{regexp.MustCompile(`(^|[.:;] )Where\b`), "write if or when"},
	{regexp.MustCompile(`(^|[.:;] )(Who|Whoever|What|Whatever|One)\b`), "begin with what acts"},
	{regexp.MustCompile(`\b(is|are|was|were) none\b`), "repeat the noun"},
}

func TestCommentsAreInPlainWords(t *testing.T) {
	t.Parallel()
	for _, name := range files(t, func(name string) bool { return strings.HasSuffix(name, ".go") }) {
		for _, c := range comments(t, name) {
			for _, r := range refused {
				if found := r.pattern.FindString(c.text); found != "" {
					t.Errorf("%s:%d: %q: %s", name, c.line, found, r.instead)
				}
			}
		}
	}
}

// The texts that sched prints are for people, too. A text has four words or more.
func TestTextsForUsersAreInPlainWords(t *testing.T) {
	t.Parallel()
	for _, name := range files(t, func(name string) bool { return strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") }) {
		lines := token.NewFileSet()
		file, err := parser.ParseFile(lines, name, text(t, name), parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			literal, ok := n.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING || len(strings.Fields(literal.Value)) < 4 {
				return true
			}
			words := strings.Join(strings.Fields(strings.Trim(literal.Value, "`\"")), " ")
			for _, r := range refused {
				if found := r.pattern.FindString(words); found != "" {
					t.Errorf("%s: %q in %.60q: %s", lines.Position(literal.Pos()), found, words, r.instead)
				}
			}
			return true
		})
	}
}

// A writtenComment is a comment of a file, its lines in one, without code that stands in it.
type writtenComment struct {
	line int
	text string
}

func comments(t *testing.T, name string) (all []writtenComment) {
	t.Helper()
	lines := token.NewFileSet()
	file, err := parser.ParseFile(lines, name, text(t, name), parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range file.Comments {
		if strings.Contains(group.Text(), "Output:") {
			continue
		}
		var prose []string
		for line := range strings.Lines(group.Text()) {
			if !strings.HasPrefix(line, "\t") && !strings.HasPrefix(line, "  ") {
				prose = append(prose, strings.TrimSpace(line))
			}
		}
		all = append(all, writtenComment{lines.Position(group.Pos()).Line, strings.Join(prose, " ")})
	}
	return all
}
