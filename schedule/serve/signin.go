package serve

import (
	"encoding/base64"
	"fmt"
	"html"
	"net/http"
)

// This file is how a browser gets a session: with a login link, which works once, or with a token
// in a form. To open the link changes nothing, because programs that show previews follow links,
// too. The button on its page uses it up.

// SignIn adds the pages for signing in and out.
func (a *access) SignIn(mux *http.ServeMux) {
	mux.HandleFunc("GET "+a.SitePath()+"/login",
		func(w http.ResponseWriter, _ *http.Request) { a.form(w, http.StatusOK, "", "") })
	mux.HandleFunc("GET "+a.SitePath()+"/login/{code}", func(w http.ResponseWriter, r *http.Request) {
		a.form(w, http.StatusOK, r.PathValue("code"), "")
	})
	mux.HandleFunc("POST "+a.SitePath()+"/login", a.login)
	mux.HandleFunc("POST "+a.SitePath()+"/logout", a.logout)
}

// LoginPath returns the path of a new login link with the scope. It signs in to all schedules of a
// site.
func (s *Server) LoginPath(scope Scope) string {
	code := newSecret()
	for _, one := range s.access.all {
		one.links.Store(tokenHash(code), link{scope, s.Now().Add(linkLasts)})
	}
	return s.SitePath() + "/login/" + code
}

// login begins a session of each schedule that knows the link or the token.
func (a *access) login(w http.ResponseWriter, r *http.Request) {
	code, text := r.PostFormValue("code"), r.PostFormValue("token")
	var cookies []*http.Cookie
	for _, one := range a.all {
		found, ok, err := Token{Name: loginLink}, false, error(nil)
		if code != "" {
			found.Scope, ok = one.useLink(code)
		} else {
			found, ok, err = one.tokens.find(text)
		}
		if err == nil && ok && found.Scope.Allows(ScopeRead) {
			var cookie *http.Cookie
			cookie, err = one.begin(r, found.Scope, found.Name, found.Hash)
			cookies = append(cookies, cookie)
		}
		if err != nil {
			writeProblem(w, ProblemOf(err))
			return
		}
	}
	switch {
	case len(cookies) > 0:
		for _, cookie := range cookies {
			http.SetCookie(w, cookie)
		}
		http.Redirect(w, r, a.SitePath()+"/", http.StatusSeeOther)
	case code != "":
		a.refuse(w, r, "This link was used before, or is not of this server.")
	default:
		a.refuse(w, r, "This token is not one of this server, or was revoked.")
	}
}

func (a *access) refuse(w http.ResponseWriter, r *http.Request, wrong string) {
	a.slowDown(r, a.Address(r))
	a.form(w, http.StatusUnauthorized, "", wrong)
}

func (a *access) logout(w http.ResponseWriter, r *http.Request) {
	for _, one := range a.all {
		for _, cookie := range r.CookiesNamed(one.cookieName(r)) {
			if session, ok := one.session(r, cookie.Value); ok {
				if err := one.tokens.end(session); err != nil {
					writeProblem(w, ProblemOf(err))
					return
				}
			}
		}
		http.SetCookie(w, one.cookie(r, ""))
	}
	http.Redirect(w, r, a.SitePath()+"/login", http.StatusSeeOther)
}

// isCode reports whether a text looks like the code of a login link: 32 bytes in base64.
func isCode(text string) bool {
	bytes, err := base64.RawURLEncoding.DecodeString(text)
	return err == nil && len(bytes) == 32
}

func (a *access) form(w http.ResponseWriter, status int, code, wrong string) {
	field := `<p><label>Token <input name="token" type="password" required autofocus autocomplete="off"></label>
<p>Make one with <code>sched serve token --scope read</code>`
	if isCode(code) {
		field = `<input type="hidden" name="code" value="` + code + `">`
	}
	if wrong != "" {
		wrong = `<p role="alert">` + html.EscapeString(wrong)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	base := html.EscapeString(a.SitePath())
	fmt.Fprintf(w, `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sign in – sched</title><link rel="stylesheet" href="%[2]s/assets/style.css"><link rel="icon" href="%[2]s/assets/icon.svg" type="image/svg+xml">
<main class="login"><h1>sched</h1>%[1]s<form method="post" action="%[2]s/login">%[3]s<p><button>Sign in</button></form></main></html>
`, wrong, base, field)
}
