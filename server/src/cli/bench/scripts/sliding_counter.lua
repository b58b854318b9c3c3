-- A sliding counter as Redis users write it: the counts of this window and of the one before, which fades, in a hash.
-- KEYS[1] the counter; ARGV: burst (has no meaning here), limit, period in microseconds, cost.
-- Answers allowed (1 or 0), units left, wait until the window ends, wait until all is forgotten, in microseconds.
-- A denied call writes nothing: what is stored still holds.
local limit, period_us, cost = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local time = redis.call('TIME')
local now_us = time[1] * 1000000 + time[2]
local window = math.floor(now_us / period_us)
local into_us = now_us - window * period_us
local stored = redis.call('HMGET', KEYS[1], 'window', 'count', 'before')
local count, before = 0, 0
if stored[1] then
  local age = window - stored[1]
  if age == 0 then
    count, before = tonumber(stored[2]), tonumber(stored[3])
  elseif age == 1 then
    before = tonumber(stored[2])
  end
end
local estimate = before * (period_us - into_us) / period_us + count
local ends_us = period_us - into_us
if estimate + cost > limit then
  return {0, math.max(0, math.floor(limit - estimate)), ends_us, ends_us + period_us}
end
redis.call('HSET', KEYS[1], 'window', window, 'count', count + cost, 'before', before)
redis.call('PEXPIRE', KEYS[1], math.ceil((ends_us + period_us) / 1000))
return {1, math.floor(limit - estimate - cost), 0, ends_us + period_us}
