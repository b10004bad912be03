// Package text writes times, durations, counts and what others wrote, for people.
package text
