// Package controls keeps what people set for all ticks of a schedule: pauses and an interrupt. They
// are in a file of the state folder, or in the store with a copy on each server.
package controls
