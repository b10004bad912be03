// Package previous tells how the run before a run ended, for the hooks that ask: on_recovery, and those with `when: changed`.
//
// How the runs of a task ended is kept in a small file, outcomes/TASK in the state folder. It is there for tasks that have such hooks, and
// while it is there it has every run that ended since it was made: a line is the id of a run and its outcome, in the order of their ends.
// Where it does not say what was before a run, the files of runs and the history do.
//
// It is not synced. So its first line names the boot of the machine: after another one it may lack what a power cut took, and
// is made anew. Where the system does not tell boots apart there is no file.
package previous
