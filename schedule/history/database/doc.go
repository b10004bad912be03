// Package database opens, locks and mends the file history.db, whatever its tables are. It alone
// knows the library of SQLite; package history knows the tables. It sets a damaged file
// aside and begins a new one (Do). A process that only looks changes nothing.
package database
