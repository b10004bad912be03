package web

import (
	"net/http"
	"strings"

	"sched/schedule/serve"
)

// Schedules returns the page of a site: each schedule at which the visitor may look, with its
// verdict. It is the menu of the site, too.
func Schedules(site *serve.Site) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var out writer
		base := site.Members[0].SitePath()
		out.put(`<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><meta http-equiv="refresh" content="60"><title>All schedules – sched</title><link rel="icon" href="%s/assets/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="%s/assets/style.css"></head>
<body><a class="skip" href="#main">To the content</a><header><a class="name" href="%s/" aria-current="page">All schedules</a>`, base, base, base)
		var below writer
		var visitor serve.Who
		for _, member := range site.Members {
			if seen, err := member.Seen(r); err == nil {
				if who := summarize(&below, member, seen); who.Name != "" {
					visitor = who
				}
			}
		}
		switch {
		case visitor.ByHeader:
			out.put(`<span class="who">%s</span>`, visitor.Name)
		case visitor.Name != "" && visitor.From != "socket":
			out.put(`<form method="post" action="%s/logout" class="who"><span>%s</span><button class="quiet">Sign out</button></form>`, base, visitor.Name)
		}
		out.put(`</header><main id="main"><h1>All schedules</h1>`)
		out.put(`%s`, markup(below.String()))
		for _, one := range site.Broken {
			out.put(`<p class="alert" role="status">✕ %s</p>`, one)
		}
		out.put(`</main></body></html>`)
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Write(out.Bytes())
	})
}

// summarize writes what is to be said of one schedule, and returns the visitor, if it can be
// read.
func summarize(out *writer, member *serve.Server, r *http.Request) (visitor serve.Who) {
	name := strings.TrimPrefix(member.Mount, "/s/")
	out.put(`<section><h2><a href="%s/">%s</a></h2>`, member.BasePath, name)
	defer out.put(`</section>`)
	visit, leave, err := member.Visit(r, false)
	if err != nil {
		problem := serve.ProblemOf(err)
		out.put(`<p class="verdict bad"><span aria-hidden="true">✕</span> %s</p>`, problem.Detail)
		for _, one := range problem.Problems {
			out.put(`<p><code>%s</code></p>`, one)
		}
		return serve.Who{}
	}
	defer leave()
	p := (&pages{Server: member}).page(r, visit)
	p.verdict(p.judged())
	if visit.Invalid != nil {
		p.put(`<p class="alert">✕ The schedule is invalid; this is about %s.</p>`, visit.Schedule.InPlace())
	}
	for _, one := range visit.Problems() {
		p.put(`<p class="alert">! %s</p>`, one)
	}
	out.put(`%s`, markup(p.String()))
	return visit.Who
}
