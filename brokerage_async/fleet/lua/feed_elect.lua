-- Take the lease if it is free: return 1, or 0 and its remaining milliseconds.
-- KEYS: lease; ARGV: token, lease in ms
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then
  if redis.call('PTTL', KEYS[1]) > 2 * ARGV[2] then  -- the clock was set back
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
  end
  return {0, redis.call('PTTL', KEYS[1])}
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return {1, 0}
