// Package state is the database of a schedule, sched.db: every table, every query, every
// transaction. It also has the locks that say which processes are alive (owners), and it refuses a
// folder that another user could change.
//
// A run is a row of the table run, from the moment at which its slot is due until it is pruned.
// There is no other form of a run: runs that wait, live or have ended, and slots that were skipped
// or missed, are rows. The phase of a row says what is going on with it (Phase), and its owner says
// which process is responsible.
//
// The types of this package divide the database by subject:
//
//	DB        opens and closes it, and begins everything else
//	Plan      is the one transaction in which a tick decides what is to be done
//	Owner     is a process that is responsible for rows, for as long as it holds the lock of a file
//	Self      is this process as an owner: it becomes one when it first has a row
//	Owned     changes rows that one owner is responsible for
//	Runs      answers questions about rows, and takes what people ask for
//	Past      adds rows up, for statistics and pictures
//	Messages  is the outbox: notifications until they were delivered
//	Pauses    are what people paused
//	Values    are single values by name, and the last valid schedule
//	Audit     is the log of what people changed: by commands, through the API and on the pages
//
// Times are microseconds since 1970 in UTC, durations are microseconds, and NULL means that there
// is no value. No other package knows SQL.
package state
