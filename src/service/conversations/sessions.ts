import type { Agent } from '../../core/agent.ts'
import type { ConversationId } from '../../core/id.ts'
import { causeOf, expiredBefore, expiryNotice } from '../../core/session-expiry.ts'
import type { IdleSession } from '../../ports/session-store.ts'
import type { ServiceContext } from '../service-context.ts'
import { openTask } from './change-context.ts'

const AGENTS_AT_ONCE = 100
const SESSIONS_AT_ONCE = 100

/**
 * Ends the sessions whose time is over, of all organizations. Each end is a run behind the newest one of its
 * conversation: a message that comes first, or another process that was faster, makes it void. Returns how many it ended.
 */
export async function expireSessions(context: ServiceContext, signal?: AbortSignal): Promise<number> {
  const { store, clock, report } = context.deps
  let count = 0
  for (let after = 0; ; ) {
    const page = await store.sessions.policies(after, AGENTS_AT_ONCE)
    for (const { number, agent } of page) {
      after = number
      const since = expiredBefore(agent.settings?.sessionExpiry ?? {}, clock.now())
      if (since === undefined) continue
      for (const session of await store.sessions.idle(agent.id, since, SESSIONS_AT_ONCE)) {
        if (signal?.aborted) return count
        try {
          if (await expireSession(agent, session, context)) count += 1
        } catch (fault) {
          // The others must not wait for this one; the next sweep tries it again.
          report(fault, `ending the session of ${session.conversationId}`)
        }
      }
    }
    if (page.length < AGENTS_AT_ONCE) return count
  }
}

async function expireSession(agent: Agent, session: IdleSession, context: ServiceContext): Promise<boolean> {
  const expiry = agent.settings?.sessionExpiry ?? {}
  const { conversationId, lastRun, lastActivity } = session
  const cause = causeOf(expiry, { lastActivity, now: context.deps.clock.now() })
  const opened = await openTask(
    {
      agent,
      conversationId,
      task: 'expire',
      policy: 'reject',
      notice: expiryNotice(expiry, cause),
      onlyAfter: lastRun,
    },
    { ...context, organizationId: agent.organizationId },
  )
  return opened.type === 'opened'
}

/** `ended`: its processes end, after the turns that it still has. `kept`: it waits for approval, and so do they. */
type LeftConversation = 'ended' | 'kept'

/**
 * Ends the processes of a conversation that its user leaves for another one. Its messages and its context stay. A run
 * does it, so that it happens also if this process dies, and not in the middle of a turn.
 */
export async function leaveConversation(
  { agent, conversationId }: { agent: Agent; conversationId: ConversationId },
  context: ServiceContext,
): Promise<LeftConversation> {
  const opened = await openTask({ agent, conversationId, task: 'close' }, context)
  return opened.type === 'opened' ? 'ended' : 'kept'
}
