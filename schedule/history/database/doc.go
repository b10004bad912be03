// Package database is the file history.db, whatever its tables are: it is opened by those who may, locked, given its tables,
// and closed. A damaged one is set aside and a new one begun, whichever operation meets the damage (Do). A process that only
// looks changes nothing in the folder: if SQLite would have to write first, the file is read in a copy.
//
// It alone knows the library of SQLite. Which tables there are, and what is asked of them, is package history.
package database
