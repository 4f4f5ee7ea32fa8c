-- Start of each script. A moment further ahead than it can be comes from before the clock was set back: it is over.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local state = KEYS[1]
local function get(field) return redis.call('HGET', state, field) end
local function left(field, most)
  local rest = (tonumber(get(field) or 0) or 0) - now
  return rest > most and 0 or rest
end
