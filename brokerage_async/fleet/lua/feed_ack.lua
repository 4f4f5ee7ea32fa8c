-- Acknowledge entries; return those that another consumer has by now.
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
