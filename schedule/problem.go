package schedule

import "sched/schedule/yamldoc"

// A Place is a position in a file of the schedule: file:line:column.
type Place = yamldoc.Place

// A Problem makes the schedule invalid, or is one of Schedule.Warnings.
type Problem = yamldoc.Problem
