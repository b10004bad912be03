package yamldoc_test

import (
	"fmt"

	"sched/schedule/yamldoc"
)

// A server is what the mapping of the example stands for.
type server struct {
	host string
	port int
}

// A loader is a Context: it embeds a Reader.
type loader struct{ *yamldoc.Reader }

var serverKeys = yamldoc.Table[loader, server]{Rows: func() []yamldoc.Key[loader, server] {
	return []yamldoc.Key[loader, server]{
		{Name: "host", Set: func(l loader, s *server, n *yamldoc.Node) { s.host, _ = l.NonEmptyExpanded(n) }},
		{Name: "port", Set: func(l loader, s *server, n *yamldoc.Node) { s.port, _ = l.Integer(n, 1, 65535) }},
	}
}}

func ExampleTable() {
	for _, text := range []string{
		"host: ${HOST}\nport: 80\n",
		"prot: 80\nhost: [a]\nhost: b\n",
	} {
		l := loader{yamldoc.NewReader(yamldoc.Options{
			Folder: "/srv",
			Getenv: func(name string) (string, bool) { return "localhost", name == "HOST" },
		})}
		source := l.Add("/srv/server.yaml", []byte(text))
		l.File = source.Name
		var s server
		if root := l.Parse(source.Data); root != nil && l.RequireMapping(root, "the file", "") {
			serverKeys.Decode(l, &s, root, 0)
		}
		problems, _ := l.Problems()
		if len(problems) == 0 {
			fmt.Println(s.host, s.port)
		}
		for _, problem := range problems {
			fmt.Println(problem)
		}
	}
	// Output:
	// localhost 80
	// server.yaml:1:1: unknown key "prot"
	//   hint: did you mean "port"?
	// server.yaml:2:7: host must be text, not a list
	// server.yaml:3:1: "host" is given twice, first at line 2
	//   hint: remove one of the two
}
