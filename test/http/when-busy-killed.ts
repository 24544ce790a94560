import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { MODEL, openServer } from './fixture-server-process.ts'
import type { WireValue } from './send-modes.ts'

const COUNT = { calls: [{ name: 'slow_count', arguments: { to: 8 } }] }

/** kill -9 after a message was accepted and before it had its effect, in each mode. */
export async function survivesKill(context: TestContext, mode: string, environment: Record<string, string> = {}) {
  const server = await openServer(environment)
  context.after(() => server.close())
  const { client, simulator } = server
  simulator.script({ when: { attempt: 1 }, answer: COUNT }, { answer: { text: 'Counted.' } })
  const agent = await client.agents.create({
    name: `ada-${mode}`,
    model: MODEL,
    tools: ['slow_count'],
    include_base_tools: false,
  })
  const first = await client.agents.messages.createAsync(agent.id, { input: 'Count' })
  await until(async () =>
    (await textsOf(client, first.id)).some(({ message_type }) => message_type === 'tool_call_message'),
  )
  const body = { messages: [{ role: 'user', content: 'And this', otid: 'one' }], when_busy: mode }
  const send = async (): Promise<WireValue> => client.agents.messages.createAsync(agent.id, body as never)
  if (mode === 'reject') return leavesNothing(server, { agentId: agent.id, first: first.id, send })
  const sent = await send()
  await server.kill()
  await server.start()
  assert.equal((await send()).id, sent.id, 'a retry finds the run')
  await until(async () => {
    const runs = [first.id, sent.id].map((id) => client.runs.retrieve(id))
    return (await Promise.all(runs)).every(({ status }) => status !== 'created' && status !== 'running')
  })
  const expected = { queue: 'completed', steer: 'completed', interrupt: 'cancelled' }[mode]
  assert.equal((await client.runs.retrieve(first.id)).status, expected)
  assert.equal((await client.runs.retrieve(sent.id)).status, 'completed')
  assert.equal(sent.id === first.id, mode === 'steer')
  const messages = (await client.agents.messages.list(agent.id, { order: 'asc' })).getPaginatedItems() as WireValue[]
  const said = messages.filter(({ message_type, content }) => message_type === 'user_message' && content === 'And this')
  assert.equal(said.length, 1)
  assert.equal(messages.at(-1).message_type, 'assistant_message', 'it was answered')
}

/** A message that was refused has no effect after the restart either, and its turn goes on. */
async function leavesNothing(
  server: Awaited<ReturnType<typeof openServer>>,
  { agentId, first, send }: { agentId: string; first: string; send(): Promise<WireValue> },
): Promise<void> {
  const { client } = server
  await assert.rejects(send(), (fault: { status?: number }) => fault.status === 409)
  await server.kill()
  await server.start()
  await until(async () => (await client.runs.retrieve(first)).status === 'completed')
  assert.equal((await client.runs.list({ agent_id: agentId })).getPaginatedItems().length, 1)
  const messages = (await client.agents.messages.list(agentId)).getPaginatedItems() as WireValue[]
  assert.ok(!messages.some(({ content }) => content === 'And this'))
  assert.equal(typeof (await send()).id, 'string', 'the same message is accepted afterwards')
}

const textsOf = async (client: Awaited<ReturnType<typeof openServer>>['client'], id: string): Promise<WireValue[]> =>
  (await client.runs.messages.list(id)).getPaginatedItems()

async function until(holds: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 60_000
  while (!(await holds())) {
    assert.ok(Date.now() < deadline, 'it takes too long')
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
