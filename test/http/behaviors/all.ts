import { agents } from './agents.ts'
import { approvals } from './approvals.ts'
import { callbacks, laterCallbacks } from './callbacks.ts'
import { cancellation } from './cancellation.ts'
import { conversations } from './conversations.ts'
import { failures } from './failures.ts'
import type { Behaviors } from './fixture-behaviors.ts'
import { memory } from './memory.ts'
import { messaging } from './messaging.ts'
import { neverTwice } from './never-twice.ts'
import { records } from './records.ts'
import { requests } from './requests.ts'
import { streams } from './streams.ts'

/** All behaviors, run in every mode and on both databases by `npm run test:http`. */
export const ALL: readonly Behaviors[] = [
  messaging,
  requests,
  approvals,
  cancellation,
  failures,
  neverTwice,
  records,
  streams,
  memory,
  agents,
  conversations,
  callbacks,
  laterCallbacks,
]
