//go:build schedtrace

package main

import _ "sched/testing/trace"
