import type { TestContext } from 'node:test'
import { realClock } from '../../src/config/real-clock.ts'
import type { HttpDialect } from '../../src/core/message.ts'
import { newProviderSet } from '../../src/providers/provider-set.ts'
import type { HomeFixtureOptions } from '../harness/fixture-home.ts'
import { simulatorFixture } from '../simulator/fixture-simulator.ts'
import { serveFixture } from './fixture-resource-server.ts'

export type Body = Record<string, unknown>

/** A server whose providers are named after their dialects, in front of the simulator. */
export async function serveDialects(context: TestContext, options: Pick<HomeFixtureOptions, 'tools'> = {}) {
  const simulator = await simulatorFixture(context)
  simulator.script({ answer: { text: 'Yes.' } })
  const at = (path: string, dialect: HttpDialect) => ({ base_url: `${simulator.url}${path}`, dialect })
  const { providers } = newProviderSet(
    {
      chat: at('/v1', 'openai-chat'),
      responses: at('/v1', 'openai-responses'),
      claude: at('', 'anthropic'),
      vertex: at('', 'gemini'),
      anthropic: at('', 'anthropic'),
      gemini: at('', 'gemini'),
      openrouter: { base_url: `${simulator.url}/v1` },
    },
    { environment: { ANTHROPIC_API_KEY: 'sk-ant-simulated' }, clock: realClock },
  )
  context.after(() => Promise.all(Object.values(providers).map((one) => one.renewConnections?.())))
  const served = await serveFixture(context, {
    ...options,
    providers: () => providers,
    model: 'chat/model',
    credentials: () => ({
      choose: async () => ({
        type: 'granted',
        grant: { credentialId: 'credential-1' as never, kind: 'api-key', secret: 'sk-simulated' },
        siblings: 0,
        canRefresh: false,
        canRefreshEntitlement: false,
        hasCooldown: false,
      }),
      refresh: async () => undefined as never,
    }),
  })
  const { client } = served
  return {
    ...served,
    simulator,
    received: () => simulator.requests.at(-1)!.body as Body,
    async send(agentId: string, more: { override_model?: string; input?: string } = {}): Promise<string> {
      const { messages } = await client.agents.messages.create(agentId, { input: 'Hello', ...more })
      return (messages[0] as { run_id: string }).run_id
    },
    async leftOut(runId: string): Promise<string[]> {
      const attempts: { settings_left_out: string[] }[] = (await served.fetch('GET', `/v1/runs/${runId}/attempts`)).body
      return attempts.flatMap(({ settings_left_out }) => settings_left_out)
    },
  }
}
