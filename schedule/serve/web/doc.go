// Package web is the pages of `sched serve`: what the API answers, for people.
//
// Every page is made here whole and works without the script, which only loads what has changed.
// Forms do what the API does, with the rights of their sender. Package serve decides who may look.
//
// put (html.go) writes HTML and escapes all but constants of this package. html/template would keep
// unused methods in the binary that every tick starts (docs/internals/decisions.md).
package web
