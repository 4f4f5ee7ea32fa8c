-- Keep entries for another lease.
-- ARGV: name, consumer, sequences
local kept = 0
for at = 3, #ARGV do
  if is_mine(ARGV[at]) then
    redis.call('XCLAIM', stream, name, consumer, 0, id_of(ARGV[at]), 'JUSTID')
    kept = kept + 1
  end
end
return kept
