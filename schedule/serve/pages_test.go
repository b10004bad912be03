package serve

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
)

// Pages are for callers who may look, and know who the caller is. A browser without a session is
// sent to the form.
func TestPagesAreForThoseWhoMayLook(t *testing.T) {
	b := newBox(t, shop)
	b.web.Config.Handler = b.server.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s of %s", r.URL.Path, whoIs(r.Context()).Name)
	}))
	cookie := b.signedIn(ScopeRead)
	for _, tt := range []struct {
		name, method, path string
		headers            map[string]string
		status             int
		body               string
	}{
		{"somebody who has signed in", "GET", "/tasks", map[string]string{"Cookie": cookie}, 200, "/tasks of my-read"},
		{"a token", "GET", "/", map[string]string{"Authorization": "Bearer " + b.tokens[ScopeRead]}, 200,
			"/ of my-read"},
		{"nobody", "GET", "/tasks", nil, http.StatusSeeOther, ""},
		{"a wrong token", "GET", "/", map[string]string{"Authorization": "Bearer x"}, 401, ""},
		{"nobody who posts", "POST", "/tasks", nil, 401, ""},
	} {
		if status, body := b.raw(tt.method, tt.path, tt.headers); status != tt.status ||
			tt.body != "" && body != tt.body {
			t.Errorf("%s: %d, %s", tt.name, status, body)
		}
	}
	without := httptest.NewRecorder()
	r := httptest.NewRequest("GET", "http://localhost/tasks", nil)
	if b.server.Handler(nil).ServeHTTP(without, r); without.Code != http.StatusNotFound {
		t.Errorf("without pages: %d", without.Code)
	}
}
