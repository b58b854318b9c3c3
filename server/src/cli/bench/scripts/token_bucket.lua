-- A token bucket as Redis users write it: a hash of the tokens left and when they were counted, on the server's clock.
-- KEYS[1] the bucket; ARGV: burst, limit, period in microseconds, cost.
-- Answers allowed (1 or 0), tokens left, wait until the call would pass, wait until the bucket is whole, in microseconds.
-- A denied call writes nothing: what is stored still holds.
local burst, limit, period_us, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local time = redis.call('TIME')
local now_us = time[1] * 1000000 + time[2]
local stored = redis.call('HMGET', KEYS[1], 'tokens', 'at_us')
local tokens = burst
if stored[1] then
  local gained = math.max(0, now_us - stored[2]) * limit / period_us
  tokens = math.min(burst, stored[1] + gained)
end
if tokens < cost then
  local retry_us = math.ceil((cost - tokens) * period_us / limit)
  local reset_us = math.ceil((burst - tokens) * period_us / limit)
  return {0, math.floor(tokens), retry_us, reset_us}
end
tokens = tokens - cost
local reset_us = math.ceil((burst - tokens) * period_us / limit)
redis.call('HSET', KEYS[1], 'tokens', tokens, 'at_us', now_us)
redis.call('PEXPIRE', KEYS[1], math.ceil(reset_us / 1000))
return {1, math.floor(tokens), 0, reset_us}
