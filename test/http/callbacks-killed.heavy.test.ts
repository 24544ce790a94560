import { test } from 'node:test'
import { callsAgainAfterKill } from './killed-callback.ts'

test(
  'a webhook call whose process is killed before the response is repeated by the next process as the same delivery',
  {
    timeout: 90_000,
  },
  (context) => callsAgainAfterKill(context),
)
