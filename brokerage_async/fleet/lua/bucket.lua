-- Report, and book a slot. Returns the ms of grace left, the number of workers, the rate in slots per 1000 s, the
-- tenths of ms after which to ask again, and those until the slot, or -1.
-- KEYS: state, seen, early, rate of an operation
-- ARGV: worker, whether it works locally, 'trade' or 'read' or '', slots a second, places for trades,
--       local share in slots a second, what all local shares may be, ms to pause after a 429, operations a second
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local state, seen, early, operation = unpack(KEYS)
local function field(name, default) return tonumber(redis.call('HGET', state, name) or '') or default end
local asked_at = field('asked_at', -1e15)
if asked_at > now + 1000 then redis.call('DEL', unpack(KEYS)) asked_at = -1e15 end  -- the clock was set back
local since = now - asked_at > 5000 and now or field('since', now)  -- new, or the engine was away
-- Workers: one that works locally, or was not seen for 5 s, has its local share for a minute
redis.call('ZADD', seen, ARGV[2] == '1' and now - 5001 or now, ARGV[1])
redis.call('ZREMRANGEBYSCORE', seen, '-inf', now - 60000)
local workers, lost = redis.call('ZCARD', seen), redis.call('ZCOUNT', seen, '-inf', now - 5000)
-- The rate: halved by a 429, once for those in flight together, and growing back by 2 % a second
local factor = math.min(1, field('factor', 1) + math.max(0, now - field('factor_at', now)) * 0.00002)
local gate, throttled_at, pause = field('gate', 0), field('throttled_at', 0), tonumber(ARGV[8])
if pause > 0 then
  if now - throttled_at > 1000 then factor, throttled_at = math.max(0.02, factor / 2), now end
  gate = math.max(gate, now + pause)
end
local full = tonumber(ARGV[4]) * factor
local rate = math.max(full * 0.05, full - lost * math.min(tonumber(ARGV[6]), tonumber(ARGV[7]) / workers))
-- The slots
local grace, slot = since + GRACE - now, math.max(now, field('next', now))
local at, wait, per_operation = -1, gate - now, tonumber(ARGV[9])
if per_operation > 0 then
  local free = tonumber(redis.call('GET', operation) or '') or 0
  wait = math.max(wait, math.min(free, slot + 1000 / per_operation) - now)
end
if ARGV[3] ~= '' and ARGV[2] == '0' and grace <= 0 and wait <= 0 then
  at = slot
  if ARGV[3] == 'trade' and slot > now then
    redis.call('ZREMRANGEBYSCORE', early, '-inf', now)
    local first = redis.call('ZRANGE', early, 0, 0, 'WITHSCORES')
    if redis.call('ZCARD', early) < tonumber(ARGV[5]) then
      at = now
    elseif first[2] and tonumber(first[2]) < slot then
      at = tonumber(first[2])
      redis.call('ZREM', early, first[1])
    end
    if at < slot then
      local number = redis.call('HINCRBY', state, 'trades', 1)
      redis.call('ZADD', early, math.min(slot, at + 1000), number)
    end
  end
  slot = slot + 1000 / rate
  if per_operation > 0 then redis.call('SET', operation, at + 1000 / per_operation, 'PX', 600000) end
end
redis.call('HSET', state, 'asked_at', now, 'since', since, 'next', slot, 'factor', factor, 'factor_at', now,
  'gate', gate, 'throttled_at', throttled_at)
for n = 1, 3 do redis.call('PEXPIRE', KEYS[n], 600000) end
return {math.ceil(math.max(grace, 0)), workers, math.floor(rate * 1000), math.ceil(math.max(wait, 0) * 10),
  at < 0 and -1 or math.ceil((at - now) * 10)}
