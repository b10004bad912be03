package serve

import (
	"fmt"
	"html"
	"net/http"
	"strings"

	"sched/schedule/load"
	"sched/schedule/view"
)

type health struct {
	Status string `json:"status"`
}

func getHealth(*Visit) (any, error) { return health{"ok"}, nil }

func getDocument(r *Visit) (any, error) { return content{text: r.server.openapi}, nil }

func getSchema(*Visit) (any, error) { return content{text: load.Schema()}, nil }

func getMetrics(r *Visit) (any, error) {
	return content{text: view.HealthOf(r.Schedule, r.Invalid != nil, r.server.Now()).Metrics()}, nil
}

func getBadge(r *Visit) (any, error) {
	if !strings.HasSuffix(r.PathValue("key"), ".svg") {
		return nil, NewProblem(http.StatusNotFound, "it ends in .svg", "there is no such picture")
	}
	t, err := view.FindTask(r.Schedule, r.Who.Task)
	if err != nil {
		return nil, err
	}
	word, colour := "unknown", "#6b7280"
	if all, err := r.View.Records(r.Context()); err == nil {
		defer all.Close()
		if last, err := all.Last(r.Context(), []string{t.Name}); err == nil && last[t.Name].ID != "" {
			word, colour = string(last[t.Name].Outcome), "#15803d"
			if last[t.Name].Outcome.Failure() {
				colour = "#b91c1c"
			}
		}
	}
	return content{text: []byte(badgeOf(t.Name, word, colour)), header: map[string]string{"Cross-Origin-Resource-Policy": "cross-origin"}}, nil
}

// badgeOf draws a badge: the name of the task, and how its last run ended, in words and in colour.
func badgeOf(name, word, colour string) string {
	const perLetter, around = 7, 12
	left, right := len(name)*perLetter+around, len(word)*perLetter+around
	name, word = html.EscapeString(name), html.EscapeString(word)
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%[1]d" height="20" role="img" aria-label="%[4]s: %[5]s"><title>%[4]s: %[5]s</title>
<rect width="%[2]d" height="20" fill="#374151"/><rect x="%[2]d" width="%[3]d" height="20" fill="%[6]s"/>
<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">
<text x="%[7]d" y="14">%[4]s</text><text x="%[8]d" y="14">%[5]s</text></g></svg>
`, left+right, left, right, name, word, colour, left/2, left+right/2)
}
