-- Return the cursor, the changes lost before it, the last sequence, the time, entries after it, and the key at it.
-- KEYS: stream, meta; ARGV: cursor, or 'now', or 'beginning'; most entries, key of the entry at the cursor or ''
local stream, meta = unpack(KEYS)
local sequence, first = tonumber(redis.call('HGET', meta, 'sequence') or 0), first_after(stream, meta)
local function key_at(number)
  local entry = entry_at(stream, number)
  return entry and fields(entry)['id'] or number == first and redis.call('HGET', meta, 'trimmed') or ''
end
local function found(cursor, lost, entries) return {cursor, lost, sequence, micros, entries, key_at(cursor)} end
local cursor = tonumber(ARGV[1])
if ARGV[1] == 'now' then cursor = sequence end
if ARGV[1] == 'beginning' then cursor = first end
if cursor > sequence then return found(sequence, cursor - sequence, {}) end
if cursor < first then return found(first, first - cursor, {}) end
if ARGV[3] ~= '' and key_at(cursor) ~= ARGV[3] then  -- the engine has lost that entry, and another one took its place
  return found(sequence, math.max(1, sequence - first), {})
end
return found(cursor, 0, redis.call('XRANGE', stream, string.format('(%d-0', cursor), '+', 'COUNT', ARGV[2]))
