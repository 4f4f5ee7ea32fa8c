-- Start of the scripts of a group, on top of a consumer group of the engine, which knows who has had what since
-- when.
--
-- ``queues`` has by key the entries that were read: the first is handed out, the others wait. ``ready`` has those
-- whose turn has come.
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
