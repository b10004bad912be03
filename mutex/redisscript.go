package mutex

import "sched/mutex/redisserver"

// The scripts are what a server does in one step. Each answers with words, of which the first is one of
//
//	ours      the run has the mutex, or the claim
//	retaken   it was gone, and the run has it again
//	held      another run has it; then follow its id and its text
//	broken    it was taken from the run by Break; then follow the id and the text of who has it now
//	free      no run had it
//
// KEYS[1] is the key of the lock or of the claim, ARGV[1] the deadline; redisserver.Script says what else a text finds, and how grants are
// counted.

// acquireScript takes a mutex that is free; where it was broken for this run in an earlier attempt, that is over.
// KEYS: lock, holder, broken, granted. ARGV: deadline, run, lease in ms, holder, instance.
var acquireScript = redisserver.Script{Text: `
if has then return {'held', has, redis.call('GET', KEYS[2]) or ''} end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
redis.call('SET', KEYS[2], ARGV[4], 'PX', ARGV[3])
if redis.call('GET', KEYS[3]) == ARGV[2] then redis.call('DEL', KEYS[3]) end
return {'ours', '', '', '', count(KEYS[4], ARGV[5])}`}

// renewScript begins the lease of a run anew, and takes the mutex again where it is gone without having
// been broken. KEYS: lock, holder, broken. ARGV: deadline, run, lease in ms, holder.
var renewScript = redisserver.Script{Text: `
if redis.call('GET', KEYS[3]) == ARGV[2] then return {'broken', has or '', redis.call('GET', KEYS[2]) or ''} end
if has and has ~= ARGV[2] then return {'held', has, redis.call('GET', KEYS[2]) or ''} end
if has then
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
  if redis.call('PEXPIRE', KEYS[2], ARGV[3]) == 0 then redis.call('SET', KEYS[2], ARGV[4], 'PX', ARGV[3]) end
  return {'ours'}
end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
redis.call('SET', KEYS[2], ARGV[4], 'PX', ARGV[3])
return {'retaken'}`}

// releaseScript frees a mutex or takes a claim back, if the run has it. KEYS: lock. ARGV: deadline, value.
var releaseScript = redisserver.Script{Text: `
if has ~= ARGV[2] then return {'free'} end
redis.call('DEL', KEYS[1])
return {'ours'}`}

// describeScript replaces the text about the holder, if the run has the mutex. KEYS: lock, holder.
// ARGV: deadline, run, holder.
var describeScript = redisserver.Script{Text: `
local left = redis.call('PTTL', KEYS[1])
if has == ARGV[2] and left > 0 then redis.call('SET', KEYS[2], ARGV[3], 'PX', left) end
return {'ours'}`}

// breakScript frees a mutex and notes for a day whose it was, so that its renewals end.
// KEYS: lock, holder, broken. ARGV: deadline.
var breakScript = redisserver.Script{Text: `
if not has then return {'free'} end
local holder = redis.call('GET', KEYS[2]) or ''
redis.call('DEL', KEYS[1], KEYS[2])
redis.call('SET', KEYS[3], has, 'EX', 86400)
return {'held', has, holder}`}

// claimScript makes a claim: the run, a space, and the holder as text. It is kept until the given time
// by the clock of the server, or for as long as that is away by the clock of the claimer, whichever is
// later: a wrong clock should not end it early. KEYS: claim, granted.
// ARGV: deadline, run, claim, for ms, until ms, instance.
var claimScript = redisserver.Script{Text: claimText}

// slotClaimScript is claimScript for a claim of which there may be a bit. KEYS: claim, granted, string.
// ARGV: deadline, run, claim, for ms, until ms, offset, instance.
var slotClaimScript = redisserver.Script{Text: `
if not has and redis.call('GETBIT', KEYS[3], ARGV[6]) == 1 then return {'held', ''} end
table.remove(ARGV, 6)
` + claimText}

const claimText = `
if has and string.sub(has, 1, #ARGV[2] + 1) ~= ARGV[2] .. ' ' then
  local run, holder = string.match(has, '^(%S*) ?(.*)$')
  return {'held', run, holder}
end
if not has then
  redis.call('SET', KEYS[1], ARGV[3], 'PX', text(math.max(tonumber(ARGV[4]), ARGV[5] - now / 1000)))
  return {'ours', '', '', '', count(KEYS[2], ARGV[6])}
end
return {'ours'}`
