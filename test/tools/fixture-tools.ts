import type { TestContext } from 'node:test'
import type { Letta } from '@letta-ai/letta-client'
import { type ServedApp, serveApp } from '../workspaces/fixture-served-app.ts'

export type ToolReturn = { status: string; output: string; stdout: string; stderr: string }

export type ToolBody = Parameters<Letta['tools']['upsert']>[0]

/** The whole app with the official client, and an agent that calls tools from source. */
export type ToolApp = ServedApp & {
  agentId: string
  /** Brings the tool and attaches it. */
  bring(tool: ToolBody & { effects?: string; egress?: string[] }): Promise<string>
  /** One call in a turn of its own. */
  run(tool: string, input?: object): Promise<ToolReturn>
}

export async function serveTools(
  context: TestContext,
  { environment = {}, secrets = {} }: { environment?: Record<string, string>; secrets?: Record<string, string> } = {},
): Promise<ToolApp> {
  const served = await serveApp(context, environment)
  const { client } = served
  const agent = await client.agents.create({ name: 'maker', model: 'puppet/any', secrets, include_base_tools: false })
  return {
    ...served,
    agentId: agent.id,
    async bring(body) {
      const tool = await client.tools.upsert(body)
      await client.agents.tools.attach(tool.id, { agent_id: agent.id })
      return tool.id
    },
    async run(tool, input = {}) {
      const message = JSON.stringify({ tool, input })
      const { messages } = await client.agents.messages.create(agent.id, {
        messages: [{ role: 'user', content: message }],
      })
      const found = messages.flatMap((one) => (one.message_type === 'tool_return_message' ? [one] : [])).at(-1)
      if (!found) throw new Error(`no call of ${tool}: ${JSON.stringify(messages)}`)
      return {
        status: found.status,
        output: found.tool_return,
        stdout: (found.stdout ?? []).join(''),
        stderr: (found.stderr ?? []).join(''),
      }
    },
  }
}
