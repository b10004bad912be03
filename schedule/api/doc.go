// Package api is the HTTP API of `sched serve`: the answers of package view and the actions of package actions, for whoever has a
// token or may open the socket.
//
// One table, routes, says what there is: the mux is made of it, and the OpenAPI document. What comes before a route is in guard.go,
// and docs/serve.md says who could do what from where, and what stops them.
//
// It keeps ticks from nothing: it holds no lock that they would wait for, and opens the history for reading only.
package api
