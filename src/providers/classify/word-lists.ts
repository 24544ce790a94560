/** Phrases of a limit that resets by itself. */
export const TRANSIENT = [
  'try again',
  'retry after',
  'retry in',
  'retry shortly',
  'resets at',
  'resets in',
  'resets on',
  'reset at',
  'reset in',
  'reset after',
  'will reset',
  'please wait',
  'usage limit reached|',
  'temporar',
  'periodic',
]

/** Rate limit texts also mention tokens and limits; read as an overflow, they would compact the history for nothing. */
export const RATES = [
  'rate limit',
  'rate-limit',
  'rate_limit',
  'ratelimit',
  'too many requests',
  'throttl',
  'tokens per min',
  'tokens per day',
  'requests per min',
  'requests per day',
  'quota exceeded for',
]

export const OUT_OF_MEMORY = [
  'out of memory',
  'outofmemory',
  'requires more system memory',
  'requires more gpu memory',
  'not enough memory',
  'insufficient memory',
  'cannot allocate memory',
  'failed to allocate',
  'memory allocation failed',
]
