-- Start of the scripts that read. The lag of readers is measured by the engine's time, as their clocks may differ.
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
