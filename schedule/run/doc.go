// Package run is one execution of a task, told once: Begin writes it down, Supervise runs its before-hooks and then its
// command as often as the task says, and Finish settles what became of it. In the foreground one process does all of
// that (Execute). A background run is handed over to a witness (HandOver), whose processes go on with it:
// SuperviseInherited and FinishInherited. Where both are gone, CollectLost finishes it.
//
// It decides how a run goes, not whether and when there is one: that is for package runner. What a run needs of the
// outside is in its Caller; what it must not forget is in its file (package runfile).
package run
