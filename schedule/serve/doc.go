// Package serve is the HTTP API of `sched serve`: the answers of package view and the actions of
// package actions. The mux and the OpenAPI document are made of routes; package access guards them.
// It holds no lock that ticks would wait for, and opens the history for reading only.
package serve
