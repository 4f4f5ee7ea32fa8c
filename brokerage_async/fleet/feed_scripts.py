"""Keys, errors and Lua scripts of change feeds: electing a poller, publishing under its lease, reading by groups.

Entries of the stream have the ids ``1-0``, ``2-0`` and so on, without a hole: a hole that a reader finds was trimmed.
"""

from __future__ import annotations

import attrs

from .._arguments import check_count
from ..errors import BrokerageError, ConfigurationError
from .fleet import Connection, Script, check_lease, check_name

__all__ = [
    "ACK", "ELECT", "EXTEND", "LOAD", "MARGIN", "PUBLISH", "READ", "RENEW", "STATUS", "TAKE", "FeedGapError",
    "FeedKeys", "LeaseLostError",
]  # fmt: skip

MARGIN = 0.1
"""Part of a lease before whose end its holder stops: its clock and that of the engine may differ in speed."""


class FeedGapError(BrokerageError):
    """Changes are lost to this reader: trimmed, lost by the engine, or not to be decoded; ``anext`` goes on after them.

    ``lost`` is their number. Read the list itself to see the present state.
    """

    def __init__(self, message: str = "", *, lost: int = 0) -> None:
        super().__init__(message)
        self.lost = lost


class LeaseLostError(BrokerageError):
    """Another process polls by now, or reads these changes: work under the lease may be repeated."""


@attrs.frozen(kw_only=True)
class FeedKeys:
    """One feed in the engine.

    Attributes:
        connection: connection to the engine.
        name: name of the feed, the same for pollers and readers.
        lease: seconds until a process that died is replaced.
        keep: number of entries kept for readers without a group.
        max_length: most entries kept for the slowest group.
    """

    connection: Connection
    name: str
    lease: float
    keep: int
    max_length: int

    def __attrs_post_init__(self) -> None:
        check_name(self.name)
        check_lease(self.lease)
        if check_count("max_length", self.max_length) < check_count("keep", self.keep):
            raise ConfigurationError(f"max_length must be at least keep ({self.keep}), got {self.max_length}")

    @property
    def lease_ms(self) -> int:
        """Milliseconds of the lease."""
        return int(self.lease * 1000)

    def key(self, *parts: str) -> str:
        """Return the name of a key."""
        return self.connection.key("feed", self.name, *parts)

    def keys(self, *names: str) -> list[str]:
        """Return the names of several keys."""
        return [self.key(name) for name in names]

    def group_keys(self, group: str) -> list[str]:
        """Return the keys that the scripts of a group take."""
        return [*self.keys("stream", "meta"), *(self.key("group", group, part) for part in ("queues", "ready"))]


ELECT = Script("""
-- KEYS: lease; ARGV: token, lease in ms
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then
  if redis.call('PTTL', KEYS[1]) > 2 * ARGV[2] then  -- the clock was set back
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
  end
  return {0, redis.call('PTTL', KEYS[1])}
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return {1, 0}
""")
"""Take the lease if it is free: return 1, or 0 and its remaining milliseconds."""

RENEW = Script("""
-- KEYS: lease; ARGV: token, lease in ms, 0 to resign
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
""")
"""Renew a lease that is still held, or end it; return 0 if it is not."""

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

COMMON = """
local clock = redis.call('TIME')
local micros = clock[1] * 1000000 + clock[2]
local function sequence_of(id) return tonumber(string.match(id, '^%d+')) end
local function id_of(number) return string.format('%d-0', number) end
local function fields(entry)
  local found = {}
  for at = 1, #entry[2], 2 do found[entry[2][at]] = entry[2][at + 1] end
  return found
end
local function entry_at(stream, number)
  return redis.call('XRANGE', stream, id_of(number), id_of(number))[1]
end
local function first_after(stream, meta)
  local first = redis.call('XRANGE', stream, '-', '+', 'COUNT', 1)[1]
  return first and sequence_of(first[1]) - 1 or tonumber(redis.call('HGET', meta, 'sequence') or 0)
end
local function groups_of(stream)  -- name, number of pending entries, last entry handed out
  local found = redis.pcall('XINFO', 'GROUPS', stream)
  if found.err then return {} end
  for at, each in ipairs(found) do found[at] = {each[2], each[6], sequence_of(each[8])} end
  return found
end
"""
"""Start of the scripts that read. The lag of readers is measured by the engine's time, as their clocks may differ."""

PUBLISH = Script(
    COMMON
    + """
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
  local entry = {'key', key, 'kind', kind, 'at', time, 'id', redis.sha1hex(table.concat(parts, '\\n')),
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
"""
)
"""Publish changes if the lease is held and nothing was published since; a repeated batch is published once.

The key of a change is made of its revision, which grows with each change of an item: it is the same when a change is
published a second time, after the engine had lost it. ``floor`` is above the revisions of all items that were removed.
"""

READ = Script(
    COMMON
    + """
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
"""
)
"""Return the cursor, the changes lost before it, the last sequence, the time, entries after it, and the key at it."""

STATUS = Script(
    COMMON
    + """
-- KEYS: stream, meta, lease
local sequence, lags = tonumber(redis.call('HGET', KEYS[2], 'sequence') or 0), {}
for _, group in ipairs(groups_of(KEYS[1])) do
  lags[#lags + 1] = group[1]
  lags[#lags + 1] = sequence - group[3] + group[2]
end
return {redis.call('GET', KEYS[3]), sequence, lags}
"""
)
"""Return the poller, the last sequence, and the name and lag of each group."""

GROUP = (
    COMMON
    + """
local stream, meta, queues, ready = unpack(KEYS)
local name, consumer = ARGV[1], ARGV[2]
local function is_mine(number)  -- nil if it is not pending
  local found = redis.pcall('XPENDING', stream, name, id_of(number), id_of(number), 1)
  if found[1] then return found[1][2] == consumer end
end
local function settle(key, number)  -- the next one of this key may be handed out
  local rest, first = {}, nil
  for each in string.gmatch(redis.call('HGET', queues, key) or '', '%d+') do
    first = first or each
    if each ~= number then rest[#rest + 1] = each end
  end
  if #rest == 0 then
    redis.call('HDEL', queues, key)
  else
    redis.call('HSET', queues, key, table.concat(rest, ' '))
    if first == number then redis.call('RPUSH', ready, rest[1] .. ' ' .. key) end
  end
end
"""
)
"""Start of the scripts of a group, on top of a consumer group of the engine, which knows who has had what since when.

``queues`` has by key the entries that were read: the first is handed out, the others wait. ``ready`` has those whose
turn has come.
"""

TAKE = Script(
    GROUP
    + """
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
"""
)
"""Hand out entries: those of consumers that died, those whose key has become free, then new ones.

An entry whose key is open waits, so that changes of one key are handled one after another. Return the number of changes
that were trimmed unread, the last sequence, the time, and the entries.
"""

ACK = Script(
    GROUP
    + """
-- ARGV: name, consumer, {sequence, idempotency key, key}
local late = {}
for at = 3, #ARGV, 3 do
  local mine, entry = is_mine(ARGV[at]), entry_at(stream, ARGV[at])
  if entry and fields(entry)['id'] ~= ARGV[at + 1] then  -- the engine has lost it, and another one took its place
  elseif mine then
    redis.call('XACK', stream, name, id_of(ARGV[at]))
    settle(ARGV[at + 2], ARGV[at])
  elseif mine == false then
    late[#late + 1] = tonumber(ARGV[at])
  end
end
return late
"""
)
"""Acknowledge entries; return those that another consumer has by now."""

EXTEND = Script(
    GROUP
    + """
-- ARGV: name, consumer, sequences
local kept = 0
for at = 3, #ARGV do
  if is_mine(ARGV[at]) then
    redis.call('XCLAIM', stream, name, consumer, 0, id_of(ARGV[at]), 'JUSTID')
    kept = kept + 1
  end
end
return kept
"""
)
"""Keep entries for another lease."""
