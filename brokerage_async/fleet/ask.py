"""The script that shares a request budget: one call per decision, one clock, that of the engine.

The budget is a token bucket whose tokens may lie with the workers. ``empty_at`` is the moment at which it is empty; it
lies ahead once slots were booked in advance. See `budget.bucket_of` for what a second may see.

* A *slot* is a token with its moment. Trades get the next one; reads leave some for trades, and book at most
  ``horizon`` ahead, so that a trade never waits behind the reads of other workers.
* A *held* token lies with a worker, to be used without asking. It counts as still in the bucket, which therefore fills
  up less far.
* Reads of different workers are served in turn (start-time fair queueing): a worker's tag is the number of reads that
  it was granted. It starts at the lowest tag of those that wait, so that no turns are saved up.
* A worker that works locally, or was not seen for a while, keeps its local share, which the others do without.
"""

from __future__ import annotations

from .connection import Script

__all__ = ["ASK", "GRACE", "LEAVE"]

GRACE = 2.5
"""Seconds after the engine came back in which every worker keeps to its local share, until all have been seen."""

HEAD = f"""
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local state, seen, lost, queue, due, tags = unpack(KEYS)
local worker = ARGV[1]
local function num(value, default) return tonumber(value or '') or default end
local function field(name) return redis.call('HGET', state, name) end
local function add(name, amount)
  if amount ~= 0 then redis.call('HINCRBY', state, name, amount) end
end
local LAPSED, FORGOTTEN, OUTAGE, GRACE = 5000, 60000, 5000, {int(GRACE * 1000)}
-- Fields of a worker: h:w tokens that it holds, s:w its local share in requests per 1000 s, l:w that this share is used
local function set_local(w, is_local)
  local share = num(field('s:' .. w), 0)
  local before = field('l:' .. w)
  if is_local and not before then
    redis.call('HSET', state, 'l:' .. w, 1)
    add('local', share)
  elseif before and not is_local then
    redis.call('HDEL', state, 'l:' .. w)
    add('local', -share)
  end
end
local function set_held(w, held)
  add('held', held - num(field('h:' .. w), 0))
  redis.call('HSET', state, 'h:' .. w, held)
end
local function forget(w)
  set_local(w, false)
  set_held(w, 0)
  redis.call('HDEL', state, 'h:' .. w, 's:' .. w)
  for n = 2, 6 do redis.call('ZREM', KEYS[n], w) end
end
"""

ASK = Script(
    HEAD
    + """
local full_rate, capacity = tonumber(ARGV[2]), tonumber(ARGV[3])
local trades, reads, held, target = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local share, is_local = tonumber(ARGV[8]), ARGV[9] == '1'
local spent, pause, horizon = tonumber(ARGV[10]), tonumber(ARGV[11]), tonumber(ARGV[12])

-- A new state, or the first call after an outage: workers keep to their local share until all were seen.
local asked_at = num(field('asked_at'), now)
if asked_at > now + 1000 then  -- the clock was set back: begin again, as dead workers would stay for as long
  for n = 1, 6 do redis.call('DEL', KEYS[n]) end
end
local since = num(field('since'), now)
if now - asked_at > OUTAGE then since = now end
redis.call('HSET', state, 'asked_at', now, 'since', since)
local grace = since + GRACE - now
if grace > 0 then is_local = true end

-- The workers
for _, w in ipairs(redis.call('ZRANGEBYSCORE', seen, '-inf', now - LAPSED)) do
  redis.call('ZREM', seen, w)
  redis.call('ZADD', lost, now, w)
  set_held(w, 0)
  set_local(w, true)
end
for _, w in ipairs(redis.call('ZRANGEBYSCORE', lost, '-inf', now - FORGOTTEN)) do forget(w) end
redis.call('ZADD', seen, now, worker)
redis.call('ZREM', lost, worker)
if num(field('s:' .. worker), -1) ~= share then
  set_local(worker, false)
  redis.call('HSET', state, 's:' .. worker, share)
end
set_local(worker, is_local)
set_held(worker, held)
local workers = redis.call('ZCARD', seen) + redis.call('ZCARD', lost)

-- The rate, halved by a 429 and growing back by 2 % a second
local factor = math.min(1, num(field('factor'), 1) + math.max(0, now - num(field('factor_at'), now)) * 0.00002)
local gate, throttled_at = num(field('gate'), 0), num(field('throttled_at'), 0)
if pause > 0 then
  if math.abs(now - throttled_at) > 1000 then  -- requests that were in flight together count once
    factor = math.max(0.02, factor / 2)
    throttled_at = now
  end
  gate = math.max(gate, now + pause)
end
if gate > now + 600000 then gate = 0 end
local base = full_rate * factor
local rate = math.max(base * 0.05, base - num(field('local'), 0) / 1000)
local gap = 1000 / rate

-- The bucket
local room = math.max(0, capacity - num(field('held'), 0))
local empty_at = num(field('empty_at'), now)
if empty_at > now + 3000 then empty_at = now + gap end  -- the clock was set back
empty_at = math.max(empty_at, now - room * gap) + spent * gap

local virtual = num(field('virtual'), 0)
local trade_slots, read_slots, hold, wait = {}, {}, 0, 0
local keep = capacity >= 2 and capacity / 2 or 0
local function book(slots, leaving)
  local at = math.max(now, empty_at + (1 + leaving) * gap)
  empty_at = empty_at + gap
  slots[#slots + 1] = math.ceil((at - now) * 10)
end

if is_local then
  reads, trades = 0, 0
elseif gate > now then
  wait = gate - now
else
  while trades > 0 and empty_at + gap <= now + 1000 do
    book(trade_slots, 0)
    trades = trades - 1
  end
  if trades > 0 then wait = empty_at + gap - now - 500 end
end

if reads > 0 and gate <= now then
  for _, w in ipairs(redis.call('ZRANGEBYSCORE', due, '-inf', now - 250)) do  -- they did not come back
    redis.call('ZREM', due, w)
    redis.call('ZREM', queue, w)
  end
  local tag = num(redis.call('ZSCORE', queue, worker), nil)
  if not tag then
    tag = math.max(num(redis.call('ZSCORE', tags, worker), 0), virtual)
    redis.call('ZADD', queue, tag, worker)
  end
  local free = math.floor((now + horizon - empty_at) / gap - keep)
  local waiting = redis.call('ZCARD', queue)
  if free > redis.call('ZRANK', queue, worker) then
    local granted = math.min(reads, math.max(1, math.floor(free / waiting)))
    tag = tag + granted
    redis.call('ZADD', tags, tag, worker)
    redis.call('ZADD', queue, tag, worker)
    virtual = math.max(virtual, num(redis.call('ZRANGE', queue, 0, 0, 'WITHSCORES')[2], 0))
    redis.call('ZREMRANGEBYSCORE', tags, '-inf', '(' .. virtual)
    reads = reads - granted
    for _ = 1, granted do book(read_slots, keep) end
  end
  if reads > 0 then
    local rank = redis.call('ZRANK', queue, worker)
    wait = math.max(2, empty_at + (keep + rank + 1) * gap - horizon - now)
    redis.call('ZADD', due, now + wait, worker)
  end
end
if reads == 0 then
  redis.call('ZREM', queue, worker)
  redis.call('ZREM', due, worker)
end

-- Tokens to hold, from the rest while no read waits
if not is_local and gate <= now and trades == 0 and redis.call('ZCARD', queue) == 0 then
  target = math.min(target, math.floor((capacity - keep) / workers))
  hold = math.max(0, math.min(target - held, math.floor((now - empty_at) / gap - keep)))
  empty_at = empty_at + hold * gap
  set_held(worker, held + hold)
end

redis.call('HSET', state, 'empty_at', empty_at, 'factor', factor, 'factor_at', now, 'gate', gate,
  'throttled_at', throttled_at, 'virtual', virtual)
for n = 1, 6 do redis.call('PEXPIRE', KEYS[n], 600000) end
return {math.ceil(math.max(grace, 0)), workers, math.floor(rate * 1000), math.ceil(math.max(gate - now, 0)), hold,
  math.ceil(wait * 10), trade_slots, read_slots, redis.call('ZCARD', queue)}
"""
)
"""Report and ask. Returns the ms of grace left, the number of workers, the rate in requests per 1000 s, the ms until
the end of a pause, tokens to hold, the tenths of ms after which to ask again, slots for trades and for reads in tenths
of ms from now, and the number of workers that wait."""

LEAVE = Script(HEAD + "forget(worker)\n")
"""Forget a worker that ends."""
