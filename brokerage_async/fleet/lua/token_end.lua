-- End the turn, and keep a failure for a while.
-- ARGV: turn, failure and pause in ms if it failed
if get('turn') ~= ARGV[1] then return 0 end
if ARGV[2] then redis.call('HSET', state, 'failure', ARGV[2], 'resting', now + tonumber(ARGV[3])) end
redis.call('HDEL', state, 'turn', 'until')
return 1
