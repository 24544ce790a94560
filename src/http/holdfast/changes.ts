import { z } from 'zod'
import { positionText } from '../../core/change.ts'
import { defined } from '../../core/defined.ts'
import type { FeedItem } from '../../ports/change-feed.ts'
import { watchChanges } from '../../service/changes/watch-changes.ts'
import { openEventStream } from '../event-stream.ts'
import { operation } from '../operation.ts'
import { changeEventSchema, wireChange } from './wire/change.ts'

const watchChangesOperation = operation({
  route: 'GET /v1/changes',
  scope: 'read',
  summary:
    'Streams what is created, changed and deleted in the organization, so that a page can keep its lists current',
  query: z.object({
    after: z
      .string()
      .optional()
      .describe(
        'The position of the last event that was received; without it, changes from now on. Changes are kept for 24 hours.',
      ),
  }),
  answer: changeEventSchema,
  streams: 'always',
  async handle({ query, reply }, context) {
    const stop = new AbortController()
    // A wrong position is refused before the stream is opened.
    const items = watchChanges({ ...defined({ after: query.after }), signal: stop.signal }, context)
    const stream = openEventStream(reply, { keepAlive: () => ': still here\n\n' })
    stream.signal.addEventListener('abort', () => stop.abort())
    if (stream.signal.aborted) stop.abort()
    try {
      for await (const item of items) await stream.send({ name: item.type, data: wireItem(item) })
      stream.disconnect()
    } catch (fault) {
      context.deps.report(fault, 'streaming changes')
      stream.destroy()
    } finally {
      stream.close()
    }
    return reply
  },
})

const wireItem = (item: FeedItem): z.output<typeof changeEventSchema> => ({
  position: positionText(item.position),
  ...defined({ changes: item.type === 'changes' ? item.changes.map(wireChange) : undefined }),
})

export const changeOperations = [watchChangesOperation]
