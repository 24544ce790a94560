import { defined } from '../../core/defined.ts'
import { searchTerms } from '../../core/search-terms.ts'
import type { Clock } from '../../ports/clock.ts'
import type { MessageSearchStore } from '../../ports/message-search-store.ts'
import type { Database } from '../database/database.ts'
import { readConversationState } from './conversation-state.ts'
import { catchUpIndex, countLagging, sweepIndex } from './indexed-messages.ts'
import { listMessages } from './message-list.ts'
import { searchInMessages } from './message-search.ts'
import { messageVectors } from './message-vectors.ts'

/** How long a search indexes before it runs. Messages not indexed by then are searched without the index. */
const CATCH_UP_MS = 150
/** Rarely, because finding deleted conversations reads all of them, and their messages are not found anyway. */
const SWEEP_EVERY_MS = 60_000

export function messageSearchStore(database: Database, clock: Pick<Clock, 'monotonic' | 'soon'>): MessageSearchStore {
  const { read, readSnapshot } = database
  let sweepAt = 0
  return {
    conversationState: (organizationId, id) => readSnapshot((db) => readConversationState(db, { organizationId, id })),

    list: (organizationId, page) => read((db) => listMessages(db, organizationId, page)),

    async search(organizationId, agentId, { text, ...query }) {
      const terms = searchTerms(text)
      const { conversationId } = query
      if (terms.length > 0) {
        const scope = {
          organizationId,
          ...defined({ agentId: agentId || undefined, conversationId: conversationId || undefined }),
        }
        // A store that cannot be written can still be searched.
        await catchUpIndex(database, { scope, forMs: CATCH_UP_MS }, clock).catch(() => 'more')
      }
      const pause = () => new Promise<void>((resolve) => clock.soon(resolve))
      const deps = { name: database.dialect.name, pause }
      return read((db) => searchInMessages(db, { ...query, organizationId, agentId, terms }, deps))
    },

    vectors: messageVectors(database, clock),

    countLagging: (limit) => countLagging(database, limit),

    async catchUp(forMs) {
      const isDue = clock.monotonic() >= sweepAt
      const swept = isDue ? await sweepIndex(database) : 'done'
      if (isDue && swept === 'done') sweepAt = clock.monotonic() + SWEEP_EVERY_MS
      const indexed = await catchUpIndex(database, { scope: {}, forMs }, clock)
      return swept === 'done' ? indexed : 'more'
    },
  }
}
