// Package pause keeps what people set for all ticks of a schedule: pauses and an interrupt. It
// keeps them in the database of the state folder, or in the store with a copy on each server.
package pause
