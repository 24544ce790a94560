import { approvals } from './approvals.ts'
import { callbacks } from './callbacks.ts'
import { cancellation } from './cancellation.ts'
import { testOnServer } from './fixture-behaviors.ts'
import { messaging } from './messaging.ts'

// The part of the behaviors that every run of the tests tries; `npm run test:http` tries all, on both databases.
testOnServer({ name: 'a server on SQLite' }, [messaging, approvals, cancellation, callbacks])
