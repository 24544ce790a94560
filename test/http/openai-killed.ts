import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import OpenAI from 'openai'
import { KEY, MODEL, openServer } from './fixture-server-process.ts'
import { all } from './openai-clients.ts'

const AGENT = 'agent:ada'
const PATIENCE_MS = 120_000

/** A real server with an agent, and OpenAI's client, whose retries are on unless a test makes its own. */
async function serve(context: TestContext, environment: Record<string, string>) {
  const server = await openServer(environment)
  context.after(() => server.close())
  const { id: agent_id } = await server.client.agents.create({ name: 'ada', model: MODEL, include_base_tools: false })
  const baseURL = `${server.url()}/openai/v1`
  const openai = (maxRetries: number) => new OpenAI({ baseURL, apiKey: KEY, maxRetries, timeout: PATIENCE_MS })
  const runs = async () => (await server.client.runs.list({ agent_id })).getPaginatedItems()
  return { server, openai, runs }
}

/** A response in the background: kill -9 in the middle of its stream, and the reader goes on from its last number. */
export async function resumesAfterKill(context: TestContext, environment: Record<string, string> = {}) {
  const { server, openai, runs } = await serve(context, environment)
  server.simulator.script(
    {
      when: { attempt: 1 },
      answer: { text: 'A first attempt that the crash cuts off.', pace: { charactersPerChunk: 2, everyMs: 50 } },
    },
    { answer: { text: 'The whole answer.', pace: { charactersPerChunk: 2 } } },
  )
  const client = openai(0)
  const started = await client.responses.create({ model: AGENT, input: 'Work', background: true, stream: true })
  let id = ''
  let last = -1
  try {
    for await (const event of started) {
      last = event.sequence_number
      if (event.type === 'response.created') id = event.response.id
      if (event.type === 'response.output_text.delta') break
    }
  } finally {
    await server.kill()
  }
  await server.start()
  const rest = await all(await client.responses.retrieve(id, { stream: true, starting_after: last }))
  assert.ok(rest.every(({ sequence_number }) => sequence_number > last))
  const end = rest.at(-1)!
  assert.ok(end.type === 'response.completed', end.type)
  assert.equal(end.response.output_text, 'The whole answer.')
  const whole = await all(await client.responses.retrieve(id, { stream: true }))
  assert.deepEqual(
    whole.filter(({ sequence_number }) => sequence_number > last),
    rest,
    'what came before and after the crash is one stream',
  )
  assert.equal((await client.responses.retrieve(id)).output_text, 'The whole answer.')
  assert.equal((await runs()).length, 1)
}

/** kill -9 while the client waits for its answer: its own retry gets the answer of the one turn. */
export async function retriesAreOneTurn(context: TestContext, environment: Record<string, string> = {}) {
  const { server, openai, runs } = await serve(context, environment)
  const { simulator } = server
  simulator.script({ answer: { text: 'Once.', pace: { beforeFirstChunkMs: 700 } } })
  const ways: Record<string, (client: OpenAI) => Promise<string | null | undefined>> = {
    fresh: async (client) =>
      (await client.chat.completions.create({ model: AGENT, messages: [{ role: 'user', content: 'fresh' }] }))
        .choices[0]?.message.content,
    named: async (client) =>
      (
        await client.chat.completions.create({
          model: AGENT,
          user: 'anna',
          messages: [{ role: 'user', content: 'named' }],
        })
      ).choices[0]?.message.content,
    response: async (client) => (await client.responses.create({ model: AGENT, input: 'response' })).output_text,
  }
  let turns = 0
  for (const [name, ask] of Object.entries(ways)) {
    const before = (await runs()).length
    const answered = ask(openai(20))
    await until(async () => simulator.requests.some(({ body }) => JSON.stringify(body).includes(name)))
    await server.kill()
    await server.start()
    assert.equal(await answered, 'Once.', name)
    assert.equal((await runs()).length, before + 1, `${name}: one turn`)
    turns += 1
  }
  assert.equal((await runs()).length, turns)
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 60_000
  while (!(await holds())) {
    assert.ok(Date.now() < deadline, 'it takes too long')
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
