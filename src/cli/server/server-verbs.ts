import { randomUUID } from 'node:crypto'
import type { NumberedChunk } from '../../core/chunk.ts'
import type { RunId } from '../../core/id.ts'
import { Problem } from '../../core/problem.ts'
import type { WatchEnd } from '../../ports/streams.ts'
import { requireAgent } from '../../service/agents/agents.ts'
import { requireConversation } from '../../service/conversations/conversations.ts'
import type { Desk } from '../../service/desk.ts'
import { showRun } from '../../service/runs/runs.ts'
import type { Verbs } from '../verbs.ts'
import type { ServerLine } from './server-line.ts'
import { serverWorkspaceVerbs } from './server-workspaces.ts'

/** The verbs, carried out by the server that owns the home. What they left is read from the database, as a guest. */
export function serverVerbs(line: ServerLine, desk: Desk): Verbs {
  return {
    async send({ conversationId, text, onGuarded, streamTokens }) {
      const body = { text, on_guarded: onGuarded, stream_tokens: streamTokens, otid: randomUUID() }
      const path = `/v1/holdfast/conversations/${conversationId}/messages`
      const send = async () => (await line.ask<{ run_id: RunId }>('POST', path, body)).run_id
      try {
        return await send()
      } catch (fault) {
        // It may have been accepted: its otid finds that run again, or opens one.
        if (!isAway(fault) || !(await line.isBack(new AbortController().signal))) throw fault
        return send()
      }
    },
    watch: (runId, options) => watch(runId, options, line),
    async cancel(runId) {
      try {
        await line.ask('DELETE', `/v1/runs/${runId}`)
      } catch (fault) {
        // It was over before: what it is now is the answer.
        if (!(fault instanceof Problem && fault.kind === 'conflict')) throw fault
      }
      return (await showRun(runId, desk)).run
    },
    async answer(runId, verdicts) {
      const approvals = verdicts.map(({ callId: tool_call_id, ...verdict }) => ({ tool_call_id, ...verdict }))
      return (await line.ask<{ run_id: RunId }>('POST', `/v1/approvals/${runId}`, { approvals })).run_id
    },
    async createAgent(request) {
      const { id } = await line.ask<{ id: string }>('POST', '/v1/holdfast/agents', request)
      return requireAgent(id, desk)
    },
    async createConversation(agent) {
      const { id } = await line.ask<{ id: string }>('POST', `/v1/conversations/?agent_id=${agent.id}`, {})
      return requireConversation(agent, id, desk)
    },
    workspaces: serverWorkspaceVerbs(line),
  }
}

type Watching = { after: number; signal: AbortSignal }

/** A line that ends before the stream does is taken up again where it was, also after a restart of the server. */
async function* watch(
  runId: RunId,
  { after, signal }: Watching,
  line: ServerLine,
): AsyncGenerator<NumberedChunk, WatchEnd> {
  for (let last = after; !signal.aborted; ) {
    try {
      for await (const data of line.listen(`/v1/runs/${runId}/chunks?starting_after=${last}`, signal)) {
        if (data === '[DONE]') return 'done'
        const numbered = JSON.parse(data) as NumberedChunk
        yield numbered
        last = numbered.number
      }
    } catch (fault) {
      if (signal.aborted) return 'stopped'
      if (!isAway(fault)) throw fault
    }
    if (!(await line.isBack(signal)) && !signal.aborted) throw gone(runId)
  }
  return 'stopped'
}

const isAway = (fault: unknown): boolean => fault instanceof Problem && fault.kind === 'unavailable'

const gone = (runId: RunId) =>
  new Problem(
    'unavailable',
    `The server of this home went away. Nothing of ${runId} is lost; it goes on at its next start.`,
  )
