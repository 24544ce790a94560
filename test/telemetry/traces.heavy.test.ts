import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { openApp } from '../../src/app.ts'
import { realClock } from '../../src/config/real-clock.ts'
import type { Agent } from '../../src/core/agent.ts'
import { defined } from '../../src/core/defined.ts'
import { startServer } from '../../src/http/server.ts'
import { newScriptedProvider, type Script, scriptOf } from '../../src/providers/scripted/script.ts'
import { createAgent } from '../../src/service/agents/create-agent.ts'
import { sendMessage } from '../../src/service/messages/send-message.ts'
import { waitForRun } from '../../src/service/runs/watch-run.ts'
import { success } from '../../src/tools/define-tool.ts'
import { newHome } from '../cli/holdfast.ts'
import { tool } from '../harness/tools.ts'
import { KEY } from '../http/fixture-server-process.ts'
import { type ReceivedSpan, startCollector } from './collector.ts'

const UNKNOWN_MODEL = { fail: { kind: 'model-unknown' as const, detail: 'no such model' } }

type Options = { environment: Record<string, string>; script?: Script; fails?: boolean }

/** A server whose agent has two tools, one of them guarded, and a model that may fail over. */
async function serveTraced(
  t: TestContext,
  { environment, script = scriptOf({ text: 'Hello.' }), fails = false }: Options,
) {
  const faults: unknown[] = []
  const report = (fault: unknown) => void faults.push(fault)
  const app = await openApp({
    environment: { HOLDFAST_HOME: newHome(t), ...environment },
    role: 'owner',
    report,
    providers: {
      test: newScriptedProvider({ clock: realClock, scriptFor: () => (fails ? [UNKNOWN_MODEL, ...script] : script) }),
      other: newScriptedProvider({ clock: realClock, scriptFor: () => script }),
    },
    tools: [tool('look'), tool('send', () => success('sent'), { needsApproval: true })],
  })
  const server = await startServer({
    context: app.context,
    host: '127.0.0.1',
    port: 0,
    apiKey: KEY,
    version: '1',
    report,
  })
  let isClosed = false
  const close = async () => {
    if (isClosed) return
    isClosed = true
    await server.close()
    await app.close()
  }
  t.after(close)
  const agent = await createAgent(
    { name: 'ada', model: 'test/model', fallback: ['other/model-2'], tools: ['look', 'send'] },
    app.context,
  )
  const request = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const response = await fetch(`${server.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json', ...headers },
      ...defined({ body: body === undefined ? undefined : JSON.stringify(body) }),
    })
    assert.ok(response.ok, `${method} ${path}: ${response.status} ${response.ok ? '' : await response.text()}`)
    return response
  }
  const say = async (text: string, headers?: Record<string, string>) => {
    const body = { messages: [{ role: 'user', content: text }] }
    await request('POST', `/v1/agents/${agent.id}/messages`, body, headers)
  }
  return { app, agent, faults, close, request, say, messages: `/v1/agents/${agent.id}/messages` }
}

async function sayDirectly(text: string, agent: Agent, { context }: Awaited<ReturnType<typeof serveTraced>>['app']) {
  const conversation = await context.deps.store.conversations.defaultOf(agent.organizationId, agent.id)
  const content = [{ type: 'text' as const, text }]
  const { runId } = await sendMessage({ agent, conversationId: conversation!.id, content }, context)
  return waitForRun(runId, context)
}

const PARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'

test('a turn of a tool, a failover and an approval is one trace with the names of the conventions', async (t) => {
  const collector = await startCollector(t)
  const { request, say, messages, close, app } = await serveTraced(t, {
    environment: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_EXPORTER_OTLP_HEADERS: 'x-key=s%20ecret' },
    fails: true,
    script: scriptOf(
      { calls: [{ tool: 'look', input: { where: 'secret place' } }] },
      { calls: [{ tool: 'send', input: {}, callId: 'call-send' }] },
      { text: 'Done.' },
    ),
  })
  await say('a secret question', { traceparent: PARENT })
  await collector.until(() => named(collector.spans, 'invoke_agent ada').length === 1)
  const approvals = [{ type: 'approval', tool_call_id: 'call-send', approve: true }]
  await request('POST', messages, { messages: [{ type: 'approval', approvals }] })
  await close()

  const [asking, answering, ...rest] = named(collector.spans, 'invoke_agent ada')
  assert.ok(asking && answering && rest.length === 0)
  assert.deepEqual(
    new Set(collector.spans.map(({ traceId }) => traceId)),
    new Set(['4bf92f3577b34da6a3ce929d0e0e4736']),
  )
  assert.equal(asking.parentSpanId, '00f067aa0ba902b7')
  assert.equal(answering.parentSpanId, asking.spanId)
  assert.equal(new Set(collector.spans.map(({ spanId }) => spanId)).size, collector.spans.length)
  for (const { spanId, traceId, start, end, name } of collector.spans) {
    assert.match(spanId, /^[0-9a-f]{16}$/)
    assert.match(traceId, /^[0-9a-f]{32}$/)
    assert.ok(start <= end, name)
  }

  const { attributes } = asking
  assert.equal(attributes['gen_ai.operation.name'], 'invoke_agent')
  assert.equal(attributes['gen_ai.agent.name'], 'ada')
  assert.match(String(attributes['gen_ai.agent.id']), /^agent-/)
  assert.match(String(attributes['gen_ai.conversation.id']), /^conv-/)
  assert.equal(attributes['holdfast.stop_reason'], 'requires_approval')
  assert.ok(Number(attributes['gen_ai.usage.input_tokens']) > 0)
  assert.equal(asking.events.filter(({ name }) => name === 'holdfast.failover').length, 1)
  assert.equal(asking.events[0]?.attributes['holdfast.recovery.next_model'], 'other/model-2')

  const [failed] = named(collector.spans, 'chat model')
  assert.equal(failed?.attributes['error.type'], 'model-unknown')
  assert.equal(failed?.status.code, 2)
  assert.equal(failed?.kind, 3)
  const answered = named(collector.spans, 'chat model-2')
  assert.ok(answered.length >= 1)
  for (const { attributes: own } of answered) {
    assert.equal(own['gen_ai.operation.name'], 'chat')
    assert.equal(own['gen_ai.provider.name'], 'other')
    assert.equal(own['gen_ai.request.model'], 'model-2')
    assert.ok(Number(own['gen_ai.usage.output_tokens']) > 0)
  }
  const [look] = named(collector.spans, 'execute_tool look')
  assert.equal(look?.parentSpanId, asking.spanId)
  assert.equal(look?.attributes['gen_ai.tool.name'], 'look')
  const [send] = named(collector.spans, 'execute_tool send')
  assert.equal(send?.parentSpanId, answering.spanId)
  assert.equal(send?.attributes['gen_ai.tool.call.id'], 'call-send')
  const [wait] = named(collector.spans, 'wait approval')
  assert.equal(wait?.parentSpanId, asking.spanId)
  assert.equal(wait?.start, asking.end)

  assert.equal(collector.requests[0]?.headers['x-key'], 's ecret')
  assert.equal(collector.resources[0]?.['service.name'], 'holdfast')
  assert.ok(
    collector.requests.every(({ text }) => !/secret (question|place)/.test(text)),
    'contents were exported',
  )
  assert.equal(app.context.telemetry?.state().exportedSpans, collector.spans.length)
  assert.deepEqual(app.context.telemetry?.state().dropped, [])
})

test('without a valid traceparent a run has a trace of its own, and one that is not sampled is not exported', async (t) => {
  const collector = await startCollector(t)
  const { say, close } = await serveTraced(t, {
    environment: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, HOLDFAST_TELEMETRY_CONTENT: 'true' },
  })
  await say('one', { traceparent: `00-${'0'.repeat(32)}-00f067aa0ba902b7-01` })
  await say('two', { traceparent: PARENT.replace(/01$/, '00') })
  await close()
  const runs = named(collector.spans, 'invoke_agent ada')
  assert.equal(runs.length, 1)
  assert.equal(runs[0]?.parentSpanId, undefined)
  assert.equal(runs[0]?.traceId, String(runs[0]?.attributes['holdfast.run.id']).slice(4).replaceAll('-', ''))
  assert.match(String(runs[0]?.attributes['gen_ai.input.messages']), /one/)
})

test('metrics are pushed with the names of /metrics', async (t) => {
  const collector = await startCollector(t)
  const { say } = await serveTraced(t, {
    environment: { OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`, HOLDFAST_TELEMETRY_METRICS_SECONDS: '1' },
  })
  await say('hello')
  const ended = () => collector.metrics.get('holdfast_runs_ended_total')?.sum
  await collector.until(() => (ended()?.dataPoints.length ?? 0) > 0)
  assert.equal(ended()?.isMonotonic, true)
  assert.equal(ended()?.dataPoints[0]?.asDouble, 1)
  const [commits] = collector.metrics.get('holdfast_commit_seconds')?.histogram?.dataPoints ?? []
  assert.ok(commits)
  const counts = (commits.bucketCounts as string[]).map(Number)
  assert.equal(counts.length, (commits.explicitBounds as number[]).length + 1)
  assert.equal(
    counts.reduce((sum, count) => sum + count),
    Number(commits.count),
  )
  assert.ok(collector.metrics.get('holdfast_memory_bytes')?.gauge)
  assert.ok(collector.requests.every(({ path }) => path === '/v1/traces' || path === '/v1/metrics'))
})

const FAULTS: Record<
  string,
  { answer?: (response: import('node:http').ServerResponse, count: number) => void; why: string }
> = {
  'is away': { why: 'unavailable' },
  'answers 500': { answer: (response) => void response.writeHead(500).end('no'), why: 'refused' },
  'answers 429': {
    answer: (response) => void response.writeHead(429, { 'retry-after': '30' }).end(),
    why: 'shutdown',
  },
  'never answers': { answer: () => {}, why: 'shutdown' },
  'rejects them': {
    answer: (response) => void response.end('{"partialSuccess":{"rejectedSpans":"2","errorMessage":"too old"}}'),
    why: 'refused',
  },
}

for (const [fault, { answer, why }] of Object.entries(FAULTS))
  test(`turns do not notice a collector that ${fault}, and what is dropped is counted and said once`, async (t) => {
    const collector = answer && (await startCollector(t, answer))
    const OTEL_EXPORTER_OTLP_ENDPOINT = collector?.url ?? 'http://127.0.0.1:9'
    const { app, agent, faults, close } = await serveTraced(t, { environment: { OTEL_EXPORTER_OTLP_ENDPOINT } })
    for (const text of ['one', 'two', 'three']) {
      const run = await sayDirectly(text, agent, app)
      assert.equal(run.status, 'completed')
    }
    await collector?.until(() => collector.requests.length > 0)
    await close()
    const { dropped, waitingRuns } = app.context.telemetry!.state()
    assert.ok(
      dropped.some((one) => one.why === why || one.why === 'shutdown'),
      JSON.stringify(dropped),
    )
    assert.ok(dropped.reduce((sum, { count }) => sum + count, 0) > 0)
    assert.ok(waitingRuns <= 3)
    assert.ok(faults.length >= 1 && faults.length <= 2, String(faults))
    assert.match(String(faults[0]), /Telemetry is dropped.*Turns are not affected/)
  })

test('a wrong address or header of the collector is refused at the start, and no value is shown', async (t) => {
  const open = (environment: Record<string, string>) =>
    openApp({ environment: { HOLDFAST_HOME: newHome(t), ...environment }, role: 'owner' })
  await assert.rejects(open({ OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4317' }), /OTEL_EXPORTER_OTLP_ENDPOINT must be/)
  const OTEL_EXPORTER_OTLP_ENDPOINT = 'http://127.0.0.1:4318'
  await assert.rejects(
    open({ OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS: 'my-secret-value' }),
    (fault: Error) => /OTEL_EXPORTER_OTLP_HEADERS/.test(fault.message) && !/secret/.test(fault.message),
  )
})

test('without a collector no turn is followed', async (t) => {
  const app = await openApp({ environment: { HOLDFAST_HOME: newHome(t) }, role: 'owner' })
  t.after(app.close)
  assert.equal(app.context.telemetry, undefined)
})

const named = (spans: readonly ReceivedSpan[], name: string) => spans.filter((span) => span.name === name)
