// Package status finds out how a schedule is doing at one moment, also as metrics for Prometheus.
// It writes nothing but the textfile, delays no tick, and costs the same for any length of history.
package status
