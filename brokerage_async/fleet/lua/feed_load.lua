-- Return the items published so far, to the holder of the lease.
-- KEYS: lease, meta, begun, items; ARGV: token, watched list, a new identity
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return {'lost'} end
redis.call('HSETNX', KEYS[2], 'identity', ARGV[3])
redis.call('HSETNX', KEYS[2], 'watched', ARGV[2])
local watched = redis.call('HGET', KEYS[2], 'watched')
if watched ~= ARGV[2] then return {'other', watched} end
return {'ok', redis.call('HGET', KEYS[2], 'identity'), tonumber(redis.call('HGET', KEYS[2], 'sequence') or 0),
        redis.call('SMEMBERS', KEYS[3]), redis.call('HGETALL', KEYS[4])}
