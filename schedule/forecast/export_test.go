package forecast

// Busy reports whether a report is being made.
func Busy(c *Cache) bool { return len(c.turn) > 0 }
