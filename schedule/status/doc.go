// Package status finds out how a schedule is doing at one moment: whether ticks come, what runs, and what is wrong with which
// task; and the same as metrics for Prometheus.
//
// It only looks: it writes nothing but the textfile that it is asked for, keeps neither a tick nor a run from anything, and costs
// as much for a long history as for a short one. How it is shown is for package cmd.
package status
