import { approvals } from './approvals.ts'
import { callbacks } from './callbacks.ts'
import { cancellation } from './cancellation.ts'
import { serveAt } from './house.ts'
import { messaging } from './messaging.ts'

// The part of the behaviours that every run of the tests tries; `npm run test:http` tries all, on both databases.
serveAt({ name: 'a server on SQLite' }, [messaging, approvals, cancellation, callbacks])
