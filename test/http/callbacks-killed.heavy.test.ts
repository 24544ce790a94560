import { test } from 'node:test'
import { callsAgainAfterKill } from './killed-callback.ts'

test(
  'a process that is killed between a callback and its answer leaves it to the next one, as the same delivery',
  {
    timeout: 90_000,
  },
  (context) => callsAgainAfterKill(context),
)
