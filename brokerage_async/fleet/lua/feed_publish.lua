-- Publish changes if the lease is held and nothing was published since; a repeated batch is published once.
--
-- The key of a change is made of its revision, which grows with each change of an item: it is the same when a change
-- is published a second time, after the engine had lost it. ``floor`` is above the revisions of all items that were
-- removed.
-- KEYS: lease, meta, begun, items, revisions, stream
-- ARGV: token, lease in ms, sequence before, entries to keep, most entries, number of parts,
--       {part, number of items, {key, item}}, number of changes,
--       {key, kind, at, has before, before, has after, after}
local lease, meta, begun, items, revisions, stream = unpack(KEYS)
local token, sequence = ARGV[1], tonumber(redis.call('HGET', KEYS[2], 'sequence') or 0)
if redis.call('GET', lease) ~= token then return {'lost'} end
redis.call('PEXPIRE', lease, ARGV[2])
local base = tonumber(ARGV[3])
local batch = token .. ' ' .. ARGV[3]
if sequence ~= base then
  if redis.call('HGET', meta, 'batch') == batch then return {'ok', sequence} end
  return {'moved', sequence}
end
local at = 6
local function argument() at = at + 1 return ARGV[at] end
for _ = 1, tonumber(ARGV[6]) do
  redis.call('SADD', begun, argument())
  for _ = 1, tonumber(argument()) do redis.call('HSET', items, argument(), argument()) end
end
local count = tonumber(argument())
if count == 0 then return {'ok', sequence} end
local identity, floor = redis.call('HGET', meta, 'identity'), tonumber(redis.call('HGET', meta, 'floor') or 0)
for _ = 1, count do
  local key, kind, time, has_before, before, has_after, after =
    argument(), argument(), argument(), argument(), argument(), argument(), argument()
  sequence = sequence + 1
  local revision = tonumber(redis.call('HGET', revisions, key) or floor) + 1
  local parts = {identity, key, revision, kind, has_before, #before, before, has_after, after}
  local entry = {'key', key, 'kind', kind, 'at', time, 'id', redis.sha1hex(table.concat(parts, '\n')),
                 'published', string.format('%d', micros)}
  if has_before == '1' then entry[#entry + 1] = 'before' entry[#entry + 1] = before end
  if has_after == '1' then entry[#entry + 1] = 'after' entry[#entry + 1] = after end
  redis.call('XADD', stream, id_of(sequence), unpack(entry))  -- first: an engine that refuses it keeps the old item
  if has_after == '1' then
    redis.call('HSET', items, key, after)
    redis.call('HSET', revisions, key, revision)
  else
    redis.call('HDEL', items, key)
    redis.call('HDEL', revisions, key)
    floor = math.max(floor, revision)
  end
  redis.call('HSET', meta, 'sequence', sequence, 'floor', floor)
end
redis.call('HSET', meta, 'batch', batch)
local done = sequence
for _, group in ipairs(groups_of(stream)) do
  local pending = group[2] > 0 and redis.call('XPENDING', stream, group[1])[2]
  done = math.min(done, pending and sequence_of(pending) - 1 or group[3])
end
local cut = math.max(math.min(sequence - tonumber(ARGV[4]), done), sequence - tonumber(ARGV[5]))
local last = cut > 0 and entry_at(stream, cut)
if last then
  redis.call('HSET', meta, 'trimmed', fields(last)['id'])
  redis.call('XTRIM', stream, 'MINID', '=', id_of(cut + 1))
end
return {'ok', sequence}
