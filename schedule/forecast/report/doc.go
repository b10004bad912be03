// Package report makes a forecast of a schedule as it stands: with its pauses, and with what its runs took according to the history.
// `sched forecast` prints it, `sched serve` shows it, and both answer it as JSON; the words that they share are here. What a forecast
// is, and how it is made, is in package forecast.
package report
