-- Hand out entries: those of consumers that died, those whose key has become free, then new ones.
--
-- An entry whose key is open waits, so that changes of one key are handled one after another. Return the number of
-- changes that were trimmed unread, the last sequence, the time, and the entries.
-- ARGV: name, consumer, lease in ms, most entries, most entries that wait, where a new group starts,
--       whether this is the first call
local lease, most, taken, lost = tonumber(ARGV[3]), tonumber(ARGV[4]), {}, 0
if not redis.pcall('XGROUP', 'CREATE', stream, name, ARGV[6], 'MKSTREAM').err then redis.call('DEL', queues, ready) end
local now, taken_at = math.floor(micros / 1000), 'taken at ' .. name
if tonumber(redis.call('HGET', meta, taken_at) or 0) > now + 1000 then  -- the clock was set back: idle since now
  for _, each in ipairs(redis.call('XPENDING', stream, name, '-', '+', ARGV[5])) do
    redis.call('XCLAIM', stream, name, each[2], 0, each[1], 'JUSTID')
  end
end
redis.call('HSET', meta, taken_at, now)
if ARGV[7] == '1' then  -- consumers that ended; one that is alive comes back by itself
  for _, each in ipairs(redis.call('XINFO', 'CONSUMERS', stream, name)) do
    if each[4] == 0 and each[6] > 60000 then redis.call('XGROUP', 'DELCONSUMER', stream, name, each[2]) end
  end
end
local cursor = '0-0'
repeat  -- entries of consumers that died
  local claimed = redis.call('XAUTOCLAIM', stream, name, consumer, lease, cursor, 'COUNT', most)
  cursor = claimed[1]
  for _, entry in ipairs(claimed[2]) do
    local number, key = string.match(entry[1], '^%d+'), fields(entry)['key']
    if string.match(redis.call('HGET', queues, key) or number, '^%d+') == number then
      redis.call('HSETNX', queues, key, number)
      redis.call('LREM', ready, 0, number .. ' ' .. key)
      taken[#taken + 1] = entry
    end
  end
  for _, id in ipairs(claimed[3]) do  -- trimmed before they were handled
    lost = lost + 1
    local all = redis.call('HGETALL', queues)
    for at = 1, #all, 2 do
      if string.find(' ' .. all[at + 1] .. ' ', ' ' .. sequence_of(id) .. ' ', 1, true) then
        settle(all[at], string.match(id, '^%d+'))
      end
    end
  end
until cursor == '0-0' or #taken >= most
while #taken < most do  -- entries whose key has become free
  local number, key = string.match(redis.call('LPOP', ready) or '', '^(%d+) (.*)$')
  if not number then break end
  local entry = redis.call('XCLAIM', stream, name, consumer, 0, number .. '-0')[1]
  if entry then taken[#taken + 1] = entry else lost = lost + 1 settle(key, number) end
end
local first, last = first_after(stream, meta), nil
for _, group in ipairs(groups_of(stream)) do if group[1] == name then last = group[3] end end
if last < first then
  lost = lost + first - last
  redis.call('XGROUP', 'SETID', stream, name, id_of(first))
end
while #taken < most and redis.call('XPENDING', stream, name)[1] < tonumber(ARGV[5]) do
  local found = redis.call('XREADGROUP', 'GROUP', name, consumer, 'COUNT', most - #taken, 'STREAMS', stream, '>')
  if not found then break end
  for _, entry in ipairs(found[1][2]) do
    local number, key = string.match(entry[1], '^%d+'), fields(entry)['key']
    local queue = redis.call('HGET', queues, key)
    redis.call('HSET', queues, key, queue and queue .. ' ' .. number or number)
    if not queue then taken[#taken + 1] = entry end
  end
end
return {lost, tonumber(redis.call('HGET', meta, 'sequence') or 0), micros, taken}
