package load

import "sched/schedule/yamldoc"

// A Mapping is a kind of mapping in the files of a schedule, with keys of its own.
type Mapping string

// The mappings are a closed list. Those after Included are values of keys of their name; a Hook is
// one of each hook key.
const (
	Top      Mapping = "schedule"
	InTask   Mapping = "task"
	InGroup  Mapping = "taskGroup"
	Defaults Mapping = "defaults"
	Included Mapping = "included"

	InHistory Mapping = "history"
	InMetrics Mapping = "metrics"
	InMail    Mapping = "mail"
	InRetry   Mapping = "retry"
	InExpect  Mapping = "expect"
	InOutput  Mapping = "output"
	InHook    Mapping = "hook"
)

// Keys returns the keys that the mapping may have, as the loader reads them and in that order.
func Keys(of Mapping) []yamldoc.Entry {
	switch of {
	case Top:
		return topKeys.Entries(0)
	case InTask:
		return taskKeys.Entries(inTask)
	case InGroup:
		return taskKeys.Entries(inGroup)
	case Defaults:
		return taskKeys.Entries(inDefaults)
	case Included:
		return includeKeys.Entries(0)
	case InHistory:
		return historyKeys.Entries(0)
	case InMetrics:
		return metricsKeys.Entries(0)
	case InMail:
		return mailKeys.Entries(0)
	case InRetry:
		return retryKeys.Entries(0)
	case InExpect:
		return expectKeys.Entries(0)
	case InOutput:
		return outputKeys.Entries(0)
	case InHook:
		return hookKeys.Entries(0)
	}
	return nil
}
