package redisserver

import (
	"sync"

	"github.com/redis/go-redis/v9"
)

// A Script is what a server does in one step. It answers with words. ARGV[1] is the deadline of the request, and KEYS[1] is read before
// the text begins, which finds these variables:
//
//	now         the clock of the server, in microseconds
//	has         the value of KEYS[1]; false where there is none
//	text(n)     a number without a point or an exponent
//	count(k, i) counts in the hash k what the instance i grants, and returns the count as text
//
// A script that grants something calls count with the key that New was told and with its last argument, which is the instance, and
// answers {"ours", …} with the count as its fifth word. The word "late" is taken: the deadline had passed, and nothing was done.
//
// One that is declared with a literal is data of the program: no code runs for it at the start. It is made when it is first needed: most
// processes of sched need none, and making one takes its SHA-1.
type Script struct {
	Text string // without onTime

	once sync.Once
	made *redis.Script
}

func (s *Script) get() *redis.Script {
	s.once.Do(func() {
		s.made = redis.NewScript(onTime + s.Text)
		scriptSources.Store(s.made.Hash(), onTime+s.Text)
	})
	return s.made
}

// scriptSources are the texts of the scripts that were made, by their SHA-1: an error names a line of one.
var scriptSources sync.Map

// onTime begins every script: one that was held up in a paused server or in the network, until its
// sender waits no longer, does nothing. The deadline is in microseconds by the clock of the server.
// It needs Redis 5, where a script may read the time and then write.
const onTime = `
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local function text(number) return string.format('%.0f', number) end
if now > tonumber(ARGV[1]) then return {'late', text(now)} end
local has = redis.call('GET', KEYS[1])
local function count(key, instance)
  if instance == '' then return '0' end
  local n = redis.call('HINCRBY', key, instance, 1)
  if n == 1 and redis.call('HLEN', key) > 50 then
    redis.call('DEL', key)
    redis.call('HSET', key, instance, 1)
  end
  return text(n)
end
`
