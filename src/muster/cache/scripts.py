"""What Redis runs by itself, so that nobody comes between a look and a change.

Each takes many keys, and answers 1 or 0 for each."""

# What is there may be anything that anybody has put there: then it is of no version, and no lock.
VERSION = """
local function version(key)
  local head = redis.pcall('GETRANGE', key, 0, 63)
  if type(head) ~= 'string' then return end
  local fence, step = string.match(head, '^{"fence":(%d+),"step":(%d+)[,}]')
  if fence and #fence <= 15 and #step <= 15 then return tonumber(fence), tonumber(step) end
end
"""

# The time to live; then for each key its new fence, step and text.
PUT = (
    VERSION
    + """
local answers = {}
for i, key in ipairs(KEYS) do
  local fence, step, text = tonumber(ARGV[i * 3 - 1]), tonumber(ARGV[i * 3]), ARGV[i * 3 + 1]
  local held, at = version(key)
  if held and (held > fence or (held == fence and at > step)) then
    answers[i] = 0
  else
    redis.call('SET', key, text, 'PX', ARGV[1])
    answers[i] = 1
  end
end
return answers
"""
)

# For each key the last fence and step that go.
REMOVE = (
    VERSION
    + """
local answers = {}
for i, key in ipairs(KEYS) do
  local fence, step = tonumber(ARGV[i * 2 - 1]), tonumber(ARGV[i * 2])
  local held, at = version(key)
  if held and (held > fence or (held == fence and at > step)) then
    answers[i] = 0
  else
    answers[i] = redis.call('DEL', key)
  end
end
return answers
"""
)

# The time to live.
KEEP = """
local answers = {}
for i, key in ipairs(KEYS) do
  answers[i] = redis.call('PEXPIRE', key, ARGV[1])
end
return answers
"""

# The time to live, and the lock.
ACQUIRE = """
local answers = {}
for i, key in ipairs(KEYS) do
  answers[i] = redis.call('SET', key, ARGV[2], 'NX', 'PX', ARGV[1]) and 1 or 0
end
return answers
"""

HOLDER = """
local function holder(key)
  local text = redis.pcall('GET', key)
  local readable, lock = pcall(cjson.decode, type(text) == 'string' and text or '')
  if readable and type(lock) == 'table' then return lock.instanceId, lock end
end
"""

# The time to live, the instance, and when it runs out.
RENEW = (
    HOLDER
    + """
local answers = {}
for i, key in ipairs(KEYS) do
  local instance, lock = holder(key)
  answers[i] = 0
  if lock and instance == ARGV[2] then
    lock.expiresAt = ARGV[3]
    redis.call('SET', key, cjson.encode(lock), 'PX', ARGV[1])
    answers[i] = 1
  end
end
return answers
"""
)

# The instance.
RELEASE = (
    HOLDER
    + """
local answers = {}
for i, key in ipairs(KEYS) do
  answers[i] = holder(key) == ARGV[1] and redis.call('DEL', key) or 0
end
return answers
"""
)
