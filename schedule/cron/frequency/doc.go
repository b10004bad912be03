// Package frequency is the grammar of every: how often a task runs, in words. Parse says which cron expressions the words
// stand for, and what is counted from a date. It is pure, and knows no time zone: package cron does.
package frequency
