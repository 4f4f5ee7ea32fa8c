"""Lua scripts of the token store: each decision about a token is one atomic step of the engine, by its clock."""

from __future__ import annotations

from .connection import Script

__all__ = ["END", "JOIN", "PUBLISH", "RENEW"]

CLOCK = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local state = KEYS[1]
local function get(field) return redis.call('HGET', state, field) end
local function moment(field) return tonumber(get(field) or 0) or 0 end
local function left(field, most)
  local rest = moment(field) - now
  if rest > most then return 0 end
  return rest
end
"""
"""Start of each script. A moment further ahead than it can be comes from before the clock was set back: it is over."""

KEPT = 3600_000
"""Milliseconds that a state is kept after its last change, beyond the life of its token."""

JOIN = Script(
    CLOCK
    + """
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
"""
)
"""Return the token, the failure of another, the time that the holder of the turn has left, or the turn."""

RENEW = Script(
    CLOCK
    + """
if get('turn') ~= ARGV[1] then return 0 end
redis.call('HSET', state, 'until', now + tonumber(ARGV[2]))
return 1
"""
)
"""Renew a turn; return 0 if it was lost."""

PUBLISH = Script(
    CLOCK
    + f"""
-- ARGV: turn, token, its digest, its life in ms
local holder = get('turn')
if holder ~= ARGV[1] and (holder or left('expires', 86400000) > 0) then
  if left('expires', 86400000) > 0 then return {{0, get('token'), left('expires', 86400000)}} end
  return {{0}}
end
local life = math.min(tonumber(ARGV[4]), 86400000)
redis.call('HSET', state, 'token', ARGV[2], 'digest', ARGV[3], 'expires', now + life)
redis.call('HDEL', state, 'turn', 'until', 'failure', 'resting')
redis.call('PEXPIRE', state, life + {KEPT})
return {{1}}
"""
)
"""Keep a token and end the turn. A turn that was lost publishes nothing: return the token that is there."""

END = Script(
    CLOCK
    + """
-- ARGV: turn, failure and pause in ms if it failed
if get('turn') ~= ARGV[1] then return 0 end
if ARGV[2] then redis.call('HSET', state, 'failure', ARGV[2], 'resting', now + tonumber(ARGV[3])) end
redis.call('HDEL', state, 'turn', 'until')
return 1
"""
)
"""End the turn, and keep a failure for a while."""
