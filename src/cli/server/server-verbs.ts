import { randomUUID } from 'node:crypto'
import type { NumberedChunk } from '../../core/chunk.ts'
import { defined } from '../../core/defined.ts'
import type { RunId } from '../../core/id.ts'
import { Problem } from '../../core/problem.ts'
import type { SessionExpiry } from '../../core/session-expiry.ts'
import type { WatchEnd } from '../../ports/streams.ts'
import { requireAgent } from '../../service/agents/agents.ts'
import { requireConversation, requireConversationById } from '../../service/conversations/conversations.ts'
import { showRun } from '../../service/runs/runs.ts'
import type { ServiceContext } from '../../service/service-context.ts'
import type { AgentChange, SentText, Verbs } from '../verbs.ts'
import type { ServerConnection } from './server-connection.ts'
import { serverWorkspaceVerbs } from './server-workspaces.ts'

/** Verbs that the server of the home carries out. Their results are read from the database, as a guest. */
export function serverVerbs(connection: ServerConnection, context: ServiceContext): Verbs {
  return {
    async send({ conversationId, text, onGuarded, streamTokens, reasoning, whenBusy, otid = randomUUID() }) {
      const body = {
        text,
        on_guarded: onGuarded,
        stream_tokens: streamTokens,
        reasoning_effort: reasoning,
        when_busy: whenBusy,
        otid,
      }
      const path = `/v1/holdfast/conversations/${conversationId}/messages`
      const send = async (): Promise<SentText> => {
        const { run_id: runId, type, request } = await connection.request<SentAnswer>('POST', path, body)
        return { runId, type, request }
      }
      try {
        return await send()
      } catch (fault) {
        // The server may have accepted it: the retry with the same otid finds that run, or opens one.
        if (!isUnavailable(fault) || !(await connection.waitUntilBack(new AbortController().signal))) throw fault
        return send()
      }
    },
    watch: (runId, options) => watch(runId, options, connection),
    async cancel(runId) {
      try {
        await connection.request('DELETE', `/v1/runs/${runId}`)
      } catch (fault) {
        // The run had already ended: return it as it is.
        if (!(fault instanceof Problem && fault.kind === 'conflict')) throw fault
      }
      return (await showRun(runId, context)).run
    },
    async answer(runId, verdicts) {
      const approvals = verdicts.map(({ callId: tool_call_id, ...verdict }) => ({ tool_call_id, ...verdict }))
      return (await connection.request<{ run_id: RunId }>('POST', `/v1/approvals/${runId}`, { approvals })).run_id
    },
    async createAgent(request) {
      const { settings = {}, ...rest } = request
      const body = { ...rest, ...sessionSettings(settings) }
      const { id } = await connection.request<{ id: string }>('POST', '/v1/holdfast/agents', body)
      return requireAgent(id, context)
    },
    async updateAgent(agent, change) {
      const { whenBusy, sessionExpiry, ...models } = change
      const body = { ...models, ...sessionSettings(defined({ whenBusy, sessionExpiry })) }
      await connection.request('PATCH', `/v1/agents/${agent.id}`, body)
      return requireAgent(agent.id, context)
    },
    async createConversation(agent, leaves) {
      const path = `/v1/conversations/?agent_id=${agent.id}`
      const { id } = await connection.request<{ id: string }>('POST', path, defined({ leaves }))
      return requireConversation(agent, id, context)
    },
    async setConversationModel({ id }, model) {
      await connection.request('PATCH', `/v1/conversations/${id}`, { model: model ?? null })
      return requireConversationById(id, context)
    },
    workspaces: serverWorkspaceVerbs(connection),
  }
}

type SentAnswer = Omit<SentText, 'runId'> & { run_id: RunId }

/** The settings in the words of the API. */
const sessionSettings = ({ whenBusy, sessionExpiry }: Pick<AgentChange, 'whenBusy' | 'sessionExpiry'>) =>
  defined({ when_busy: whenBusy, session_expiry: sessionExpiry ? wireExpiry(sessionExpiry) : sessionExpiry })

const wireExpiry = ({ idleMinutes, dailyAt, timezone }: SessionExpiry) =>
  defined({ idle_minutes: idleMinutes, daily_at: dailyAt, timezone })

type WatchFrom = { after: number; signal: AbortSignal }

/** Reconnects after the last chunk when the connection ends before the stream does, also after a server restart. */
async function* watch(
  runId: RunId,
  { after, signal }: WatchFrom,
  connection: ServerConnection,
): AsyncGenerator<NumberedChunk, WatchEnd> {
  for (let last = after; !signal.aborted; ) {
    try {
      for await (const data of connection.streamEvents(`/v1/runs/${runId}/chunks?starting_after=${last}`, signal)) {
        if (data === '[DONE]') return 'done'
        const numbered = JSON.parse(data) as NumberedChunk
        yield numbered
        last = numbered.number
      }
    } catch (fault) {
      if (signal.aborted) return 'stopped'
      if (!isUnavailable(fault)) throw fault
    }
    if (!(await connection.waitUntilBack(signal)) && !signal.aborted) throw serverGone(runId)
  }
  return 'stopped'
}

const isUnavailable = (fault: unknown): boolean => fault instanceof Problem && fault.kind === 'unavailable'

const serverGone = (runId: RunId) =>
  new Problem(
    'unavailable',
    `The server of this home stopped. Nothing of ${runId} is lost; it continues at the next start.`,
  )
