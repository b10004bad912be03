package api

import (
	"encoding/base64"
	"fmt"
	"html"
	"net/http"
)

// This file is how a browser gets a session: with a login link, which works once, or with a token in a form. The link itself changes
// nothing, since programs that show previews follow links, too: the button does.

// signIn adds the pages for signing in and out.
func (s *Server) signIn() {
	s.mux.HandleFunc("GET "+s.BasePath+"/login", func(w http.ResponseWriter, _ *http.Request) { s.form(w, http.StatusOK, "", "") })
	s.mux.HandleFunc("GET "+s.BasePath+"/login/{code}", func(w http.ResponseWriter, r *http.Request) {
		s.form(w, http.StatusOK, r.PathValue("code"), "")
	})
	s.mux.HandleFunc("POST "+s.BasePath+"/login", s.login)
	s.mux.HandleFunc("POST "+s.BasePath+"/logout", s.logout)
}

// LoginPath returns the path of a new login link for somebody with that scope.
func (s *Server) LoginPath(scope Scope) string {
	return s.BasePath + "/login/" + s.sessions.newLink(scope)
}

func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	from := s.address(r)
	if left := s.attempts.exhausted(from); left > 0 {
		writeProblem(w, problemOf(tooMany(from, left)))
		return
	}
	if code := r.PostFormValue("code"); code != "" {
		if scope, ok := s.sessions.useLink(code); ok {
			s.begin(w, r, session{who: Who{Name: "login link", Scope: scope}})
			return
		}
		s.attempts.wrong(from)
		s.form(w, http.StatusUnauthorized, "", "This link was used before, or is not of this server.")
		return
	}
	found, ok, err := s.tokens.find(r.PostFormValue("token"))
	switch {
	case err != nil:
		writeProblem(w, problemOf(err))
	case !ok || !found.Scope.allows(Read):
		s.attempts.wrong(from)
		s.form(w, http.StatusUnauthorized, "", "This token is not one of this server, or was revoked.")
	default:
		s.begin(w, r, session{who: Who{Name: found.Name, Scope: found.Scope}, token: found.Hash})
	}
}

func (s *Server) begin(w http.ResponseWriter, r *http.Request, one session) {
	http.SetCookie(w, s.cookie(s.sessions.begin(one)))
	http.Redirect(w, r, s.BasePath+"/", http.StatusSeeOther)
}

func (s *Server) logout(w http.ResponseWriter, r *http.Request) {
	if cookie, err := r.Cookie(cookieName); err == nil {
		s.sessions.end(cookie.Value)
	}
	http.SetCookie(w, s.cookie(""))
	http.Redirect(w, r, s.BasePath+"/login", http.StatusSeeOther)
}

// isCode reports whether a text looks like the code of a login link: 32 bytes in base64.
func isCode(text string) bool {
	bytes, err := base64.RawURLEncoding.DecodeString(text)
	return err == nil && len(bytes) == 32
}

// form is the page where one signs in: with the code of a link, or with a token.
func (s *Server) form(w http.ResponseWriter, status int, code, wrong string) {
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
	base := html.EscapeString(s.BasePath)
	fmt.Fprintf(w, `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sign in – sched</title><link rel="stylesheet" href="%[2]s/assets/style.css"><link rel="icon" href="%[2]s/assets/icon.svg" type="image/svg+xml">
<main class="login"><h1>sched</h1>%[1]s<form method="post" action="%[2]s/login">%[3]s<p><button>Sign in</button></form></main></html>
`, wrong, base, field)
}
