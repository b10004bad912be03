# The five commands people need. Each is one line that you may type instead.
.PHONY: build test lint race ci

build: # a static binary, as releases have it
	CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o sched .

test: # all you need before a commit; three to five minutes
	go test ./...

lint:
	gofmt -l cmd schedule mutex bench main.go
	go vet ./...
	go -C packaging/tools build -o ../../.staticcheck honnef.co/go/tools/cmd/staticcheck
	./.staticcheck ./...

race: # needs a C compiler
	go test -race -timeout 30m ./...

ci: # the whole check of a commit
	bash .ci/run
