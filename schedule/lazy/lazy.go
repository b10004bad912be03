// Package lazy has regular expressions that are compiled when they are first needed. Each start of sched pays for what a package
// makes before main, and each background run has a start of its own, its `sched finish`: thirty expressions, most of them of
// `sched import`, took a tenth of it.
//
// A Regexp that a package declares with a literal is data of the program: no code runs for it at the start.
package lazy

import (
	"regexp"
	"sync"
)

// A Regexp is a regular expression that is compiled when it is first used. Its methods are those of regexp.Regexp; they panic
// where the expression is wrong. Safe for concurrent use.
type Regexp struct {
	Expr string

	once     sync.Once
	compiled *regexp.Regexp
}

func (r *Regexp) compile() *regexp.Regexp {
	r.once.Do(func() { r.compiled = regexp.MustCompile(r.Expr) })
	return r.compiled
}

// MatchString is regexp.Regexp.MatchString.
func (r *Regexp) MatchString(s string) bool { return r.compile().MatchString(s) }

// FindStringSubmatch is regexp.Regexp.FindStringSubmatch.
func (r *Regexp) FindStringSubmatch(s string) []string { return r.compile().FindStringSubmatch(s) }

// FindStringSubmatchIndex is regexp.Regexp.FindStringSubmatchIndex.
func (r *Regexp) FindStringSubmatchIndex(s string) []int {
	return r.compile().FindStringSubmatchIndex(s)
}

// ReplaceAllString is regexp.Regexp.ReplaceAllString.
func (r *Regexp) ReplaceAllString(src, repl string) string {
	return r.compile().ReplaceAllString(src, repl)
}

// ReplaceAllStringFunc is regexp.Regexp.ReplaceAllStringFunc.
func (r *Regexp) ReplaceAllStringFunc(src string, repl func(string) string) string {
	return r.compile().ReplaceAllStringFunc(src, repl)
}
