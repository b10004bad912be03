package preset

import (
	"encoding/json"
	"net/url"
	"reflect"
	"strings"
	"testing"
)

// hostile is what would change a request that is put together as text.
const hostile = "a\"}/../?x=1&y#z\\ \r\nX-Evil: {{task}} \u2028é%2F"

func field(at Place) string {
	switch at.Name {
	case "text", "details":
		return hostile
	case "outcome":
		return "succeeded"
	case "event":
		return "finish"
	}
	return ""
}

func TestAValueStaysInItsPlace(t *testing.T) {
	p := Preset{
		With:    map[string]string{"url": "https://example.com/base/", "key": hostile},
		URL:     "{{url}}/a/{{key}}/b?q={{key}}&t={{text}}",
		Method:  "POST",
		Headers: map[string]string{"X-Key": "Bearer {{key}}"},
		JSON: map[string]any{"t": "<{{text}}>", "n": int64(5), "list": []any{"{{text}}", true},
			"empty": "{{reason}}", "word": "{{loud}}"},
		Words: map[string]map[string]any{"loud": {"succeeded": int64(0), Else: int64(8)}},
	}
	r := p.Fill(field)
	u, err := url.Parse(r.URL)
	if err != nil || u.Host != "example.com" || u.Path != "/base/a/"+hostile+"/b" ||
		!reflect.DeepEqual(u.Query(), url.Values{"q": {hostile}, "t": {hostile}}) || u.Fragment != "" {
		t.Errorf("%s, %v", r.URL, err)
	}
	if got := r.Headers["X-Key"]; strings.ContainsAny(got, "\r\n") || !strings.HasPrefix(got, "Bearer a\"}") {
		t.Errorf("the header is %q", got)
	}
	var body any
	want := map[string]any{"t": "<" + hostile + ">", "n": 5.0, "list": []any{hostile, true}, "word": 0.0}
	if err := json.Unmarshal([]byte(r.Body), &body); err != nil || !reflect.DeepEqual(body, want) {
		t.Errorf("the body is %s, %v", r.Body, err)
	}

	p.JSON, p.Form = nil, map[string]string{"m": "{{text}}!", "none": "{{reason}}"}
	form, err := url.ParseQuery(p.Fill(field).Body)
	if err != nil || !reflect.DeepEqual(form, url.Values{"m": {hostile + "!"}}) {
		t.Errorf("the form is %v, %v", form, err)
	}
}

func TestALimitCountsCharacters(t *testing.T) {
	p := Preset{With: map[string]string{"a": "äöüß"}, URL: "https://x/", Form: map[string]string{
		"a": "{{a:4}}", "b": "{{a:3}}"}}
	form, _ := url.ParseQuery(p.Fill(field).Body)
	if form.Get("a") != "äöüß" || form.Get("b") != "äö…" {
		t.Errorf("%q", form)
	}
}

func TestWhatAnAnswerMustHave(t *testing.T) {
	p := Preset{Success: map[string]any{"ok": true, "id": Any, "n": int64(1)}}
	for answer, missing := range map[string]string{
		`{"ok": true, "id": null, "n": 1, "more": 2}`: "",
		`{"ok": false, "id": 7, "n": 1}`:              "ok: true",
		`{"ok": true, "n": 1}`:                        "id",
		`{"ok": true, "id": 7, "n": 10}`:              "n: 1",
		`<html>`:                                      "id",
		``:                                            "id",
	} {
		if got := p.Missing(answer); got != missing {
			t.Errorf("%s lacks %q, want %q", answer, got, missing)
		}
	}
}

func TestEveryFormOfASecretIsKnown(t *testing.T) {
	p := Preset{With: map[string]string{"a": "s/e c\"ret", "short": "1"}}
	for _, form := range []string{"s/e c\"ret", "s%2Fe%20c%22ret", "s%2Fe+c%22ret", `s/e c\"ret`} {
		found := false
		for _, secret := range p.Secrets() {
			found = found || secret == form
			if secret == "1" {
				t.Error("1 stands in every answer, and is no secret")
			}
		}
		if !found {
			t.Errorf("%s may be shown", form)
		}
	}
}
