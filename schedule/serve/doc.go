// Package serve is the HTTP API of `sched serve`: the answers of package view and the actions of
// package control. The mux and the OpenAPI document are made of routes, and an access guards them.
// A watcher tells listeners what changes in the state folder. listen.go opens the address.
// bounded.go and serve.go bound the number and the time of connections.
//
// The package holds no lock that ticks would wait for, and opens the history for reading only.
package serve
