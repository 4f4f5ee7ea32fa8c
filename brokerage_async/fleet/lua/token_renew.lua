-- Renew a turn; return 0 if it was lost.
if get('turn') ~= ARGV[1] then return 0 end
redis.call('HSET', state, 'until', now + tonumber(ARGV[2]))
return 1
