// Package web is the pages of `sched serve`: what the API answers, for people.
//
// Each page is made here whole, and works without a script: filters are in the URL, buttons are forms. The one script has the page
// asked for again when something has changed, and puts what is new in its place. What a form asks for is asked of the API, with the
// rights and the name of whoever sent it. Nothing here decides who may look: package api lets nobody through who may not.
//
// HTML is written by put (html.go), which escapes all that is not a constant of this package. html/template would
// keep the linker from leaving out unused methods of the one binary that every tick starts (docs/decisions.md).
package web
