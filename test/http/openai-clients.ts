import type { TestContext } from 'node:test'
import OpenAI from 'openai'
import OpenAI7 from 'openai7'
import { defined } from '../../src/core/defined.ts'
import type { Tool } from '../../src/ports/tool.ts'
import { isFullRun } from '../harness/case-count.ts'
import { serveDialects } from './fixture-dialects.ts'
import { KEY } from './fixture-server-process.ts'

/**
 * The newest major versions of the official client; `npm test` uses the newest. The types of the older one fit both.
 */
export const CLIENTS: Record<string, typeof OpenAI> = defined({
  'openai 6': isFullRun ? OpenAI : undefined,
  'openai 7': OpenAI7 as never,
})

/** A server with an agent `ada` and OpenAI's clients. */
export async function serveOpenai(context: TestContext, tools: Tool[] = []) {
  const served = await serveDialects(context, { tools })
  const { client, url } = served
  const agent = await client.agents.create({
    name: 'ada',
    model: 'chat/model',
    tools: tools.map(({ name }) => name),
    include_base_tools: false,
  })
  return {
    ...served,
    agent,
    openai: (Client: typeof OpenAI = OpenAI, headers: Record<string, string> = {}) =>
      new Client({ baseURL: `${url}/openai/v1`, apiKey: KEY, maxRetries: 0, defaultHeaders: headers }),
    /** The texts of the messages that the model was sent last, by role. */
    sent: () =>
      (served.received().messages as { role: string; content: unknown }[])
        .filter(({ role }) => role !== 'system')
        .map(({ role, content }) => `${role}: ${typeof content === 'string' ? content : JSON.stringify(content)}`),
    system: () =>
      String(
        (served.received().messages as { role: string; content: unknown }[]).find(({ role }) => role === 'system')
          ?.content ?? '',
      ),
  }
}

export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const read: T[] = []
  for await (const item of items) read.push(item)
  return read
}
