-- Return the token, the failure of another, the time that the holder of the turn has left, or the turn.
-- ARGV: turn, lease in ms, least life in ms, digest of the token that was rejected, of the one that is due, or ''
local turn, lease, least = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local digest = get('digest')
if digest and digest == ARGV[4] then
  redis.call('HDEL', state, 'token', 'digest', 'expires')
  digest = nil
end
local life = left('expires', 86400000)
if digest and digest ~= ARGV[5] and life >= least then return {'token', get('token'), life, digest} end
local pause = left('resting', 3600000)
if pause > 0 then return {'failed', get('failure'), pause} end
local holder, held = get('turn'), left('until', 2 * lease)
if holder and holder ~= turn and held > 0 then return {'wait', held} end
redis.call('HSET', state, 'turn', turn, 'until', now + lease)
redis.call('HINCRBY', state, 'turns', 1)
redis.call('PEXPIRE', state, 86400000)
return {'turn'}
