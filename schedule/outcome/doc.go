// Package outcome has the types for what became of a slot: outcomes, records and ids of runs. It
// stores nothing: packages state and ledger do.
package outcome
