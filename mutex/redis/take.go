package redis

import "time"

const (
	firstPause     = 10 * time.Millisecond  // bounds the first pause after a short attempt; it doubles
	minAttemptTime = 300 * time.Millisecond // no further attempt begins with less time left
	attemptsInTurn = 3                      // the first attempts ask the servers in turn
)

const confirmScript = `if redis.call("GET", KEYS[1]) ~= ARGV[1] then return 0 end
redis.call("SET", KEYS[1], ARGV[2], "PX", ARGV[3]) return 1`

// emptyValue stands for an empty value that another program has set, because "" stands for no
// value.
const emptyValue = "garbage"

// count returns how many of the answers of the servers match.
func count[T any](answers []T, matches func(T) bool) (servers int) {
	for _, answer := range answers {
		if matches(answer) {
			servers++
		}
	}
	return servers
}

// mostCommon returns the value that most servers have, and how many have it.
func mostCommon(values []string) (most string, servers int) {
	counts := map[string]int{}
	for _, value := range values {
		counts[value]++
		if value != "" && counts[value] > servers {
			most, servers = value, counts[value]
		}
	}
	return most, servers
}
