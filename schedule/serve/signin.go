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
	mux.HandleFunc("GET "+a.BasePath+"/login", func(w http.ResponseWriter, _ *http.Request) { a.form(w, http.StatusOK, "", "") })
	mux.HandleFunc("GET "+a.BasePath+"/login/{code}", func(w http.ResponseWriter, r *http.Request) {
		a.form(w, http.StatusOK, r.PathValue("code"), "")
	})
	mux.HandleFunc("POST "+a.BasePath+"/login", a.login)
	mux.HandleFunc("POST "+a.BasePath+"/logout", a.logout)
}

// LoginPath returns the path of a new login link with the scope.
func (a *access) LoginPath(scope Scope) string {
	return a.BasePath + "/login/" + a.links.add(scope)
}

func (a *access) login(w http.ResponseWriter, r *http.Request) {
	if code := r.PostFormValue("code"); code != "" {
		if scope, ok := a.links.use(code); ok {
			a.signIn(w, r, scope, loginLink, "")
			return
		}
		a.refuse(w, r, "This link was used before, or is not of this server.")
		return
	}
	found, ok, err := a.tokens.find(r.PostFormValue("token"))
	switch {
	case err != nil:
		writeProblem(w, ProblemOf(err))
	case !ok || !found.Scope.Allows(ScopeRead):
		a.refuse(w, r, "This token is not one of this server, or was revoked.")
	default:
		a.signIn(w, r, found.Scope, found.Name, found.Hash)
	}
}

func (a *access) refuse(w http.ResponseWriter, r *http.Request, wrong string) {
	a.slowDown(r, a.Address(r))
	a.form(w, http.StatusUnauthorized, "", wrong)
}

func (a *access) signIn(w http.ResponseWriter, r *http.Request, scope Scope, by, of string) {
	cookie, err := a.begin(r, scope, by, of)
	if err != nil {
		writeProblem(w, ProblemOf(err))
		return
	}
	http.SetCookie(w, cookie)
	http.Redirect(w, r, a.BasePath+"/", http.StatusSeeOther)
}

func (a *access) logout(w http.ResponseWriter, r *http.Request) {
	for _, cookie := range r.CookiesNamed(a.cookieName(r)) {
		if one, ok := a.session(r, cookie.Value); ok {
			if err := a.tokens.end(one); err != nil {
				writeProblem(w, ProblemOf(err))
				return
			}
		}
	}
	http.SetCookie(w, a.cookie(r, ""))
	http.Redirect(w, r, a.BasePath+"/login", http.StatusSeeOther)
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
	base := html.EscapeString(a.BasePath)
	fmt.Fprintf(w, `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sign in – sched</title><link rel="stylesheet" href="%[2]s/assets/style.css"><link rel="icon" href="%[2]s/assets/icon.svg" type="image/svg+xml">
<main class="login"><h1>sched</h1>%[1]s<form method="post" action="%[2]s/login">%[3]s<p><button>Sign in</button></form></main></html>
`, wrong, base, field)
}
