package redis

import "time"

// brokenFor is how long a mark of Break is kept after the end of the lease.
const brokenFor = 24 * time.Hour

// breakScript removes a key that has one of the values, or that is empty or no text.
const breakScript = `local value = redis.pcall("GET", KEYS[1])
for _, seen in ipairs(ARGV) do
	if value == seen or value == "" or type(value) == "table" then return redis.call("DEL", KEYS[1]) end
end`
