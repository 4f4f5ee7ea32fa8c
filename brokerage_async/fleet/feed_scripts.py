"""Lua scripts of change feeds: electing a poller, publishing under its lease, and reading by groups.

Entries of the stream have the ids ``1-0``, ``2-0`` and so on, without a hole: a hole that a reader finds was trimmed.
"""

from __future__ import annotations

from .connection import Script

__all__ = ["ACK", "ELECT", "EXTEND", "JOIN", "LOAD", "PUBLISH", "READ", "RENEW", "RESIGN", "TAKE"]

ELECT = Script("""
-- KEYS: lease, meta; ARGV: token, lease in ms
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then
  if redis.call('PTTL', KEYS[1]) > 2 * ARGV[2] then  -- the clock was set back
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
  end
  return {0, redis.call('PTTL', KEYS[1])}
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return {1, redis.call('HINCRBY', KEYS[2], 'elections', 1)}
""")
"""Take the lease if it is free: return 1 and the number of elections, or 0 and its remaining milliseconds."""

RENEW = Script("""
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
""")

RESIGN = Script("""
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
""")

LOAD = Script("""
-- KEYS: lease, meta, begun, items; ARGV: token, watched list, a new identity
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return {'lost'} end
redis.call('HSETNX', KEYS[2], 'identity', ARGV[3])
redis.call('HSETNX', KEYS[2], 'watched', ARGV[2])
local watched = redis.call('HGET', KEYS[2], 'watched')
if watched ~= ARGV[2] then return {'other', watched} end
return {'ok', redis.call('HGET', KEYS[2], 'identity'), tonumber(redis.call('HGET', KEYS[2], 'sequence') or 0),
        redis.call('SMEMBERS', KEYS[3]), redis.call('HGETALL', KEYS[4])}
""")
"""Return the items published so far, to the holder of the lease."""

CLOCK = """
local clock = redis.call('TIME')
local micros = clock[1] * 1000000 + clock[2]
"""
"""The time of the engine, by which the lag of readers is measured: their own clocks may differ from the poller's."""

PUBLISH = Script(
    CLOCK
    + """
-- KEYS: lease, meta, begun, items, revisions, stream, groups
-- ARGV: token, lease in ms, sequence before, entries to keep, most entries, number of parts,
--       {part, number of items, {key, item}}, number of changes,
--       {key, kind, at, has before, before, has after, after}
local lease, meta, begun, items, revisions, stream, groups = unpack(KEYS)
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
  local entry = {'key', key, 'kind', kind, 'at', time, 'id', redis.sha1hex(table.concat(parts, '\\n')),
                 'published', string.format('%d', micros)}
  if has_before == '1' then entry[#entry + 1] = 'before' entry[#entry + 1] = before end
  if has_after == '1' then
    entry[#entry + 1] = 'after' entry[#entry + 1] = after
    redis.call('HSET', items, key, after)
    redis.call('HSET', revisions, key, revision)
  else
    redis.call('HDEL', items, key)
    redis.call('HDEL', revisions, key)
    floor = math.max(floor, revision)
  end
  redis.call('XADD', stream, string.format('%d-0', sequence), unpack(entry))
end
redis.call('HSET', meta, 'sequence', sequence, 'floor', floor, 'batch', batch)
local keep, most, done = tonumber(ARGV[4]), tonumber(ARGV[5]), sequence
for _, low in ipairs(redis.call('HVALS', groups)) do done = math.min(done, tonumber(low)) end
local cut = math.max(math.min(sequence - keep, done), sequence - most)
if cut > 0 then redis.call('XTRIM', stream, 'MINID', '=', string.format('%d-0', cut + 1)) end
return {'ok', sequence}
"""
)
"""Publish changes if the lease is held and nothing was published since; a repeated batch is published once.

The key of a change is made of its revision, which grows with each change of an item: it is the same when a change is
published a second time, after the engine had lost it. ``floor`` is above the revisions of all items that were removed.
"""

FIRST = """
local function fields(entry)
  local found = {}
  for at = 1, #entry[2], 2 do found[entry[2][at]] = entry[2][at + 1] end
  return found
end
local function sequence_of(entry) return tonumber(string.match(entry[1], '^%d+')) end
local function first_after(stream, meta)
  local first = redis.call('XRANGE', stream, '-', '+', 'COUNT', 1)[1]
  return first and sequence_of(first) - 1 or tonumber(redis.call('HGET', meta, 'sequence') or 0)
end
"""

READ = Script(
    CLOCK
    + FIRST
    + """
-- KEYS: stream, meta; ARGV: cursor, or 'now', or 'beginning'; most entries, key of the entry at the cursor or ''
local sequence = tonumber(redis.call('HGET', KEYS[2], 'sequence') or 0)
local cursor = tonumber(ARGV[1])
if ARGV[1] == 'now' then cursor = sequence end
if ARGV[1] == 'beginning' then cursor = first_after(KEYS[1], KEYS[2]) end
if cursor > sequence then return {sequence, cursor - sequence, sequence, micros, {}} end
local first = first_after(KEYS[1], KEYS[2])
if cursor < first then return {first, first - cursor, sequence, micros, {}} end
local last = string.format('%d-0', cursor)
last = ARGV[3] ~= '' and redis.call('XRANGE', KEYS[1], last, last)[1]
if last and fields(last)['id'] ~= ARGV[3] then  -- the engine has lost that entry, and another one took its place
  return {sequence, math.max(1, sequence - first), sequence, micros, {}}
end
local entries = redis.call('XRANGE', KEYS[1], string.format('(%d-0', cursor), '+', 'COUNT', ARGV[2])
return {cursor, 0, sequence, micros, entries}
"""
)
"""Return the cursor, the changes lost before it, the last sequence, the time, and entries after the cursor."""

JOIN = Script(
    FIRST
    + """
-- KEYS: stream, meta, groups, group; ARGV: name, 'now' or 'beginning'
if redis.call('HEXISTS', KEYS[3], ARGV[1]) == 1 then return 0 end
local cursor = tonumber(redis.call('HGET', KEYS[2], 'sequence') or 0)
if ARGV[2] == 'beginning' then cursor = first_after(KEYS[1], KEYS[2]) end
redis.call('HSET', KEYS[3], ARGV[1], cursor)
redis.call('HSET', KEYS[4], 'cursor', cursor)
return 1
"""
)
"""Make a group known, unless it is."""

GROUP = (
    CLOCK
    + FIRST
    + """
local now = math.floor(micros / 1000)
local stream, meta, groups, group, open, todo, holders, keys, busy = unpack(KEYS)
local function settle(number)
  local key = redis.call('HGET', keys, number)
  redis.call('ZREM', open, number)
  redis.call('ZREM', todo, number)
  redis.call('HDEL', holders, number)
  redis.call('HDEL', keys, number)
  if key and redis.call('HGET', busy, key) == tostring(number) then redis.call('HDEL', busy, key) end
end
local function note_progress(name)
  local first = redis.call('ZRANGE', todo, 0, 0)[1]
  local low = first and tonumber(first) - 1 or tonumber(redis.call('HGET', group, 'cursor') or 0)
  redis.call('HSET', groups, name, low)
end
"""
)
"""Start of the scripts of a group.

``open`` has the entries handed out, by their deadline; ``todo`` those and the ones that wait for another of their key.
``holders`` and ``keys`` are the consumer and key of an entry, ``busy`` the open entry of a key.
"""

TAKE = Script(
    GROUP
    + """
-- ARGV: name, consumer, lease in ms, most entries, most entries that wait
local name, consumer, lease, most = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local taken, lost = {}, 0
local function take(number, key)
  local entry = redis.call('XRANGE', stream, number .. '-0', number .. '-0')[1]
  if not entry then lost = lost + 1 settle(number) return end
  redis.call('ZADD', open, now + lease, number)
  redis.call('HSET', holders, number, consumer)
  redis.call('HSET', busy, key, number)
  taken[#taken + 1] = entry
end
if tonumber(redis.call('HGET', group, 'taken_at') or 0) > now + 1000 then  -- the clock was set back
  for _, number in ipairs(redis.call('ZRANGEBYSCORE', open, now + lease, '+inf')) do
    redis.call('ZADD', open, now + lease, number)
  end
end
for _, number in ipairs(redis.call('ZRANGEBYSCORE', open, '-inf', now, 'LIMIT', 0, most)) do
  take(number, redis.call('HGET', keys, number))
end
for _, number in ipairs(redis.call('ZRANGE', todo, 0, -1)) do
  if #taken == most then break end
  local key = redis.call('HGET', keys, number)
  if redis.call('HEXISTS', busy, key) == 0 then take(number, key) end
end
local cursor = tonumber(redis.call('HGET', group, 'cursor') or 0)
local first = first_after(stream, meta)
if cursor < first then lost = lost + first - cursor cursor = first end
while #taken < most and redis.call('ZCARD', todo) < tonumber(ARGV[5]) do
  local found = redis.call('XRANGE', stream, string.format('(%d-0', cursor), '+', 'COUNT', most - #taken)
  if #found == 0 then break end
  for _, entry in ipairs(found) do
    local key = fields(entry)['key']
    cursor = sequence_of(entry)
    redis.call('ZADD', todo, cursor, cursor)
    redis.call('HSET', keys, cursor, key)
    if redis.call('HEXISTS', busy, key) == 0 then take(cursor, key) end
  end
end
redis.call('HSET', group, 'cursor', cursor, 'taken_at', now)
note_progress(name)
return {lost, tonumber(redis.call('HGET', meta, 'sequence') or 0), micros, taken}
"""
)
"""Hand out entries: those of consumers that died, those whose key has become free, then new ones.

An entry whose key is open waits, so that changes of one key are handled one after another. Return the number of changes
that were trimmed unread, the last sequence, the time, and the entries.
"""

ACK = Script(
    GROUP
    + """
-- ARGV: name, consumer, sequences
local late = {}
for at = 3, #ARGV do
  local holder = redis.call('HGET', holders, ARGV[at])
  if holder == ARGV[2] then settle(ARGV[at]) elseif holder then late[#late + 1] = tonumber(ARGV[at]) end
end
note_progress(ARGV[1])
return late
"""
)
"""Acknowledge entries; return those that another consumer has by now."""

EXTEND = Script(
    GROUP
    + """
-- ARGV: consumer, lease in ms, sequences
local kept = 0
for at = 3, #ARGV do
  if redis.call('HGET', holders, ARGV[at]) == ARGV[1] then
    redis.call('ZADD', open, now + tonumber(ARGV[2]), ARGV[at])
    kept = kept + 1
  end
end
return kept
"""
)
"""Keep entries for another lease."""
