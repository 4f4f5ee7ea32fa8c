-- Return the poller, the last sequence, and the name and lag of each group.
-- KEYS: stream, meta, lease
local sequence, lags = tonumber(redis.call('HGET', KEYS[2], 'sequence') or 0), {}
for _, group in ipairs(groups_of(KEYS[1])) do
  lags[#lags + 1] = group[1]
  lags[#lags + 1] = sequence - group[3] + group[2]
end
return {redis.call('GET', KEYS[3]), sequence, lags}
