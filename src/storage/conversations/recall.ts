import { searchTerms } from '../../core/search-terms.ts'
import type { Clock } from '../../ports/clock.ts'
import type { RecallStore } from '../../ports/recall-store.ts'
import type { Database } from '../database/database.ts'
import { standingOf } from './conversation-standing.ts'
import { listAcross } from './message-list.ts'
import { searchInMessages } from './message-search.ts'
import { messageVectors } from './message-vectors.ts'
import { catchUpIndex, sweepIndex } from './message-words.ts'

/** How long a search indexes before it looks. What is left then is searched as it is. */
const CATCH_UP_MS = 150
/** What is not there any more is not found anyway; looking for it reads every conversation. */
const SWEEP_EVERY_MS = 60_000

export function recallStore(database: Database, clock: Pick<Clock, 'monotonic' | 'soon'>): RecallStore {
  const { read, readAtOnce } = database
  let sweepAt = 0
  return {
    standing: (organizationId, id) => readAtOnce((db) => standingOf(db, { organizationId, id })),

    list: (organizationId, page) => read((db) => listAcross(db, organizationId, page)),

    async search(organizationId, agentId, { text, ...query }) {
      const terms = searchTerms(text)
      const { conversationId } = query
      if (terms.length > 0) {
        const scope = { organizationId, ...(agentId ? { agentId } : {}), ...(conversationId ? { conversationId } : {}) }
        // A store that cannot be written now can still be searched.
        await catchUpIndex(database, { scope, forMs: CATCH_UP_MS }, clock).catch(() => 'more')
      }
      return read((db) => searchInMessages(db, { ...query, organizationId, agentId, terms }))
    },

    vectors: messageVectors(database, clock),

    async catchUp(forMs) {
      const isDue = clock.monotonic() >= sweepAt
      const swept = isDue ? await sweepIndex(database) : 'done'
      if (isDue && swept === 'done') sweepAt = clock.monotonic() + SWEEP_EVERY_MS
      const indexed = await catchUpIndex(database, { scope: {}, forMs }, clock)
      return swept === 'done' ? indexed : 'more'
    },
  }
}
