import { approvals } from './approvals.ts'
import { callbacks } from './callbacks.ts'
import { cancellation } from './cancellation.ts'
import { testOnServer } from './fixture-behaviors.ts'
import { messaging } from './messaging.ts'

// The behaviors that `npm test` runs; `npm run test:http` runs all of them on both databases.
testOnServer({ name: 'a server on SQLite' }, [messaging, approvals, cancellation, callbacks])
