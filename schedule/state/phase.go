package state

// A Phase says what is going on with a run.
type Phase string

const (
	Waiting   Phase = "waiting"   // nobody works on it: see Row.Wait
	Planned   Phase = "planned"   // a slot that its owner, a tick, has not come to yet
	Ready     Phase = "ready"     // its owner will start it, or skip it
	Running   Phase = "running"   // its owner has started its command, or is about to
	Finishing Phase = "finishing" // its outcome is known; its owner fires its hooks
	Ended     Phase = "ended"     // over
)

// A WaitsFor says what a waiting row waits for.
type WaitsFor string

const (
	ForNothing WaitsFor = ""      // any tick may start it, as a run that was asked for
	ForTime    WaitsFor = "time"  // its next attempt comes at Wait.NotBefore
	ForPause   WaitsFor = "pause" // the end of a pause or a maintenance
	ForMutex   WaitsFor = "mutex"
	ForSeat    WaitsFor = "seat"  // a seat of its pool
	ForStore   WaitsFor = "store" // the store must say whether another server runs it
)
