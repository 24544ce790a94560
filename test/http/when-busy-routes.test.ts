import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Letta } from '@letta-ai/letta-client'
import { ADMISSION_POLICIES, type AdmissionPolicy } from '../../src/core/admission.ts'
import type { ConversationId, RunId } from '../../src/core/id.ts'
import { textOf } from '../../src/core/message.ts'
import { scriptOf } from '../../src/providers/scripted/script.ts'
import { success } from '../../src/tools/define-tool.ts'
import { type Gate, gate, tool } from '../harness/tools.ts'
import { type ResourceServerFixture, serveFixture } from './fixture-resource-server.ts'
import type { WireValue } from './send-modes.ts'

// The same four effects on every route that sends, chosen in the body and in the header, through the official client.

type Sending = { agentId: string; conversationId: string; body: object; headers: Record<string, string> }
type Route = (client: Letta, sending: Sending) => Promise<Response>

const ROUTES: Record<string, Route> = {
  'agents.messages.create': (client, { agentId, body, headers }) =>
    client.agents.messages.create(agentId, { ...body, streaming: false } as never, { headers }).asResponse(),
  'agents.messages.create, streaming': (client, { agentId, body, headers }) =>
    client.agents.messages.create(agentId, { ...body, streaming: true } as never, { headers }).asResponse(),
  'agents.messages.stream': (client, { agentId, body, headers }) =>
    client.agents.messages.stream(agentId, body as never, { headers }).asResponse(),
  'agents.messages.createAsync': (client, { agentId, body, headers }) =>
    client.agents.messages.createAsync(agentId, body as never, { headers }).asResponse(),
  'conversations.messages.create': (client, { conversationId, body, headers }) =>
    client.conversations.messages
      .create(conversationId, { ...body, streaming: true } as never, { headers })
      .asResponse(),
  'conversations.messages.create, blocking': (client, { conversationId, body, headers }) =>
    client.conversations.messages
      .create(conversationId, { ...body, streaming: false } as never, { headers })
      .asResponse(),
}

/** A server whose tool holds the first turn of each conversation until its gate opens, or the turn is cancelled. */
async function serveHolding(t: Parameters<typeof serveFixture>[0]) {
  const gates = new Map<string, { started: Gate; mayGoOn: Gate }>()
  const hold = tool('hold', async (input, { signal }) => {
    const { started, mayGoOn } = gates.get(String((input as { key: string }).key))!
    started.open()
    const cancelled = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
    await Promise.race([mayGoOn.promise, cancelled])
    return success('held')
  })
  const served = await serveFixture(t, {
    tools: [hold],
    script: ({ messages }) => {
      const first = messages.find((one) => one.role === 'user')
      const key = first?.role === 'user' ? textOf(first.content) : ''
      const isFirst = !messages.some((one) => one.role === 'tool')
      return scriptOf(isFirst ? { calls: [{ tool: 'hold', input: { key } }] } : { text: 'One.' }, { text: 'One.' })
    },
  })
  return { ...served, gates }
}

type Case = { route: string; mode: AdmissionPolicy; where: 'body' | 'header' }

async function check({ route, mode, where }: Case, served: Awaited<ReturnType<typeof serveHolding>>): Promise<void> {
  const { client, fixture, gates } = served
  const name = `${route}, ${mode} in the ${where}`
  const { id: agentId } = await client.agents.create({
    name,
    model: 'test/model',
    tools: ['hold'],
    include_base_tools: false,
  })
  const { store } = fixture.context.deps
  const { organizationId } = fixture.context
  const conversationId = (await store.conversations.defaultOf(organizationId, agentId as never))!.id
  const holding = { started: gate(), mayGoOn: gate() }
  gates.set(name, holding)
  const first = (await client.agents.messages.createAsync(agentId, { input: name })).id as RunId
  await holding.started.promise

  const isInBody = where === 'body'
  const sent = ROUTES[route]!(client, {
    agentId,
    conversationId,
    body: isInBody ? { input: 'second', when_busy: mode } : { input: 'second' },
    headers: isInBody ? {} : { 'x-holdfast-when-busy': mode },
  })
  if (mode === 'reject') {
    await assert.rejects(sent, (fault: { status?: number }) => {
      assert.equal(fault.status, 409, name)
      return true
    })
    holding.mayGoOn.open()
    await fixture.wait(first)
    assert.deepEqual(await said(served, conversationId), [name, 'One.'], name)
    return
  }
  await until(() => hasEffect(served, { agentId, first, mode }), name)
  if (mode !== 'interrupt') holding.mayGoOn.open()
  const response = await sent
  const text = await response.text()
  const runId = response.headers.get('x-holdfast-run') as RunId
  const header = (effect: string) => response.headers.get(`x-holdfast-${effect}`)
  assert.deepEqual(
    [runId === first, header('queued'), header('steered'), header('interrupted')],
    {
      queue: [false, 'true', null, null],
      steer: [true, null, 'true', null],
      interrupt: [false, 'true', null, first],
    }[mode],
    name,
  )
  if (route.endsWith('createAsync')) {
    const { queued, steered } = JSON.parse(text)
    assert.deepEqual([queued, steered], [mode !== 'steer', mode === 'steer'], name)
  }
  await fixture.wait(first)
  assert.equal((await fixture.wait(runId)).stopReason, 'end_turn', name)
  assert.equal((await fixture.get(first)).status, mode === 'interrupt' ? 'cancelled' : 'completed', name)
  assert.deepEqual(
    await said(served, conversationId),
    { queue: [name, 'One.', 'second', 'One.'], steer: [name, 'second', 'One.'], interrupt: [name, 'second', 'One.'] }[
      mode
    ],
    name,
  )
}

async function hasEffect(
  { client, fixture }: ResourceServerFixture,
  { agentId, first, mode }: { agentId: string; first: RunId; mode: AdmissionPolicy },
): Promise<boolean> {
  if (mode === 'steer') return (await fixture.events(first)).some(({ type }) => type === 'input-steered')
  return (await client.runs.list({ agent_id: agentId })).getPaginatedItems().length > 1
}

async function said({ fixture }: ResourceServerFixture, conversationId: ConversationId): Promise<string[]> {
  const messages: WireValue[] = await fixture.context.deps.store.messages.context(conversationId)
  return messages.flatMap(({ body }) => {
    if (!('content' in body)) return []
    const text = textOf(body.content)
    // A cancelled turn leaves a note about itself.
    return text === '' || body.role === 'system' ? [] : [text]
  })
}

async function until(holds: () => Promise<boolean>, name: string): Promise<void> {
  const deadline = Date.now() + 20_000
  while (!(await holds())) {
    assert.ok(Date.now() < deadline, `${name} has no effect`)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

for (const route of Object.keys(ROUTES))
  test(`${route}: queue, steer, interrupt and reject have their effect, in the body and in the header`, async (t) => {
    const served = await serveHolding(t)
    for (const where of ['body', 'header'] as const)
      for (const mode of ADMISSION_POLICIES) await check({ route, mode, where }, served)
  })
