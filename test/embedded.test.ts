import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import {
  type App,
  acceptCallback,
  createAgent,
  openApp,
  requireConversation,
  sendMessage,
  waitForRun,
} from '../src/embedded.ts'
import type { ModelProvider } from '../src/ports/model.ts'
import { newScriptedProvider, scriptOf } from '../src/providers/scripted/script.ts'
import { newHome } from './cli/holdfast.ts'
import { newVirtualClock, type VirtualClock } from './harness/virtual-clock.ts'
import { listenForCallbacks } from './http/callback-listener.ts'

/** Ten seconds, in days. */
const TEN_SECONDS = String(10 / 86_400)

/** A program that has Holdfast inside it: an app of its own, and no server. */
async function embed(context: TestContext, environment: Record<string, string> = {}) {
  const clock = newVirtualClock()
  const provider = newScriptedProvider({ clock, scriptFor: () => scriptOf({ text: 'Hello.' }) })
  const app = await openEmbedded(context, { clock, provider, environment })
  const agent = await createAgent({ name: 'ada', model: 'test/model', tools: [] }, app.context)
  const { id: conversationId } = await requireConversation(agent, undefined, app.context)
  const content = [{ type: 'text' as const, text: 'hello' }]
  return { clock, desk: app.context, request: { agent, conversationId, content } }
}

type OpenEmbeddedOptions = { clock: VirtualClock; provider: ModelProvider; environment: Record<string, string> }

async function openEmbedded(context: TestContext, { clock, provider, environment }: OpenEmbeddedOptions): Promise<App> {
  const app = await openApp({
    environment: { HOLDFAST_HOME: newHome(context), ...environment },
    role: 'owner',
    clock,
    providers: { test: provider },
    report: (fault) => assert.fail(String(fault)),
  })
  context.after(async () => {
    const closed = app.close()
    await clock.advance(1_000)
    await closed
  })
  return app
}

test('a program that embeds Holdfast is called back when its run is over', async (context) => {
  const listener = await listenForCallbacks()
  context.after(() => listener.close())
  const { desk: serviceContext, request } = await embed(context)
  const callback = acceptCallback(`${listener.url}/done`, serviceContext)
  const { runId } = await sendMessage({ ...request, callback }, serviceContext)
  await listener.called(1)
  const [{ path, body }] = listener.calls as [(typeof listener.calls)[0]]
  assert.deepEqual([path, body.run_id, body.status], ['/done', runId, 'completed'])
  assert.equal(body.metadata.result.messages[0].content, 'Hello.')
})

test('the streams of a program that embeds Holdfast are pruned when their time is over', async (context) => {
  const { clock, desk: serviceContext, request } = await embed(context, { HOLDFAST_STREAM_DAYS: TEN_SECONDS })
  const { streams } = serviceContext.deps
  const { runId } = await sendMessage(request, serviceContext)
  const run = await waitForRun(runId, serviceContext)
  assert.equal(await streams.isGone(run), false)
  for (let second = 0; second < 120 && !(await streams.isGone(run)); second++) await clock.advance(1_000)
  assert.equal(await streams.isGone(run), true)
  assert.match(JSON.stringify(await serviceContext.deps.store.messages.ofRun(runId)), /Hello\./)
})
