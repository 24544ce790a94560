import type { Scope } from '../../src/core/people.ts'
import { scriptOf } from '../../src/providers/scripted/script.ts'
import { success } from '../../src/tools/define-tool.ts'
import { tool } from '../harness/tools.ts'
import { serveKeyed } from './fixture-keyed-server.ts'

export type ApprovalBody = {
  run_id: string
  tool_calls: { tool_call_id: string; digest: string; arguments: string }[]
}

/** An agent with a guarded tool `send`, whose model gives every call the same id. */
export async function serveGuarded(
  context: Parameters<typeof serveKeyed>[0],
  more: Parameters<typeof serveKeyed>[1] = {},
) {
  const ran: unknown[] = []
  const send = tool(
    'send',
    (input) => {
      ran.push(input)
      return success('sent')
    },
    { needsApproval: true },
  )
  let asked = 0
  const server = await serveKeyed(context, {
    tools: [send, tool('look')],
    script: (request) => {
      if (request.messages.at(-1)?.role === 'user') asked++
      return scriptOf({ calls: [{ tool: 'send', input: { number: asked }, callId: 'call_SAME' }] }, { text: 'done' })
    },
    ...more,
  })
  const messages = `/v1/agents/${server.fixture.agent.id}/messages`
  const keyOf = async (scope: Scope) => server.as((await server.makeKey({ scope })).key)
  const waiting = async () => ((await server.as()('GET', '/v1/approvals')).body as ApprovalBody[])[0]
  const verdict = (tool_call_id: string, approve = true) => ({
    messages: [{ type: 'approval', approvals: [{ type: 'approval', tool_call_id, approve }] }],
  })
  return { ...server, ran, messages, keyOf, waiting, verdict }
}
