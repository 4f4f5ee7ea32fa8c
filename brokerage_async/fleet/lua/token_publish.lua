-- Keep a token and end the turn. A turn that was lost publishes nothing: return the token that is there.
-- ARGV: turn, token, its digest, its life in ms
local holder = get('turn')
if holder ~= ARGV[1] and (holder or left('expires', 86400000) > 0) then
  return left('expires', 86400000) > 0 and {0, get('token'), left('expires', 86400000)} or {0}
end
local life = math.min(tonumber(ARGV[4]), 86400000)
redis.call('HSET', state, 'token', ARGV[2], 'digest', ARGV[3], 'expires', now + life)
redis.call('HDEL', state, 'turn', 'until', 'failure', 'resting')
redis.call('PEXPIRE', state, life + KEPT)
return {1}
