-- Renew a lease that is still held, or end it; return 0 if it is not.
-- KEYS: lease; ARGV: token, lease in ms, 0 to resign
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
