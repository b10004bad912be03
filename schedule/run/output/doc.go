// Package output has what runs print, in files of the state folder: output/TASK/RUN.log, which a
// command writes to, and RUN.hooks.log beside it for the hooks of the run. A file is made when its
// run begins, kept within output.limit, and removed with the record of the run, or before if
// nothing was printed.
//
// Non-goals: the copy for the key output (package run), and reading while a run prints (package
// cmd).
package output
