package cron

import "sched/schedule/cron/frequency"

// An Error says what is wrong with a cron expression or with the words of every:.
type Error = frequency.Error

// wrong returns an Error without a hint.
func wrong(format string, args ...any) *Error { return frequency.Wrong(format, args...) }
