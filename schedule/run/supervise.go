package run

import (
	"time"
)

// startDeliveryPatience is how long a supervisor whose command has ended waits for the delivery of
// messages about the start: the run's lock is held meanwhile. While a longer command runs, there is
// time enough.
const startDeliveryPatience = 5 * time.Second
