-- A fixed window as Redis users write it: a count that expires when its window ends, on the server's clock.
-- KEYS[1] the counter; ARGV: burst (has no meaning here), limit, period in microseconds, cost.
-- Answers allowed (1 or 0), units left, wait until the window ends (0 if allowed), the same again, in microseconds.
-- A denied call writes nothing: what is stored still holds.
local limit, period_us, cost = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local time = redis.call('TIME')
local now_us = time[1] * 1000000 + time[2]
local ends_us = (math.floor(now_us / period_us) + 1) * period_us
local count = tonumber(redis.call('GET', KEYS[1]) or '0')
if count + cost > limit then
  return {0, limit - count, ends_us - now_us, ends_us - now_us}
end
redis.call('INCRBY', KEYS[1], cost)
redis.call('PEXPIREAT', KEYS[1], math.ceil(ends_us / 1000))
return {1, limit - count - cost, 0, ends_us - now_us}
