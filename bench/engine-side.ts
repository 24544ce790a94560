import type { Agent } from '../src/core/agent.ts'
import { defined } from '../src/core/defined.ts'
import type { ConversationId, RunId } from '../src/core/id.ts'
import type { MessageBody } from '../src/core/message.ts'
import type { Change } from '../src/core/projection.ts'
import type { Tool } from '../src/ports/tool.ts'
import type { ServiceContext } from '../src/service/service-context.ts'
import { benchProvider } from './provider.ts'
import { runJobFromArgv, type Side, type SideOptions } from './side.ts'
import { pastMessages, QUESTION, SYSTEM, TEXT_DELTAS_PER_TURN, WEATHER, type WireMessage, weatherIn } from './wire.ts'

/** Holdfast as a side, used through app and service as an entrance does. */
async function openEngineSide(options: SideOptions): Promise<Side> {
  const { dist, home, durability, source, request, cacheEntries, onTool } = options
  const { openApp, sendMessage, waitForRun, createAgent, listRuns } = await loadHoldfast(dist)
  const { context, close } = await openApp({
    environment: {
      HOLDFAST_HOME: home,
      HOLDFAST_DURABILITY: durability,
      ...defined({ HOLDFAST_CACHE_ENTRIES: cacheEntries === undefined ? undefined : `${cacheEntries}` }),
    },
    role: 'owner',
    providers: { bench: benchProvider(source, request) },
    tools: [weatherTool(onTool)],
  })
  let agent: Agent | undefined
  let lastRun: RunId | undefined

  async function theAgent(): Promise<Agent> {
    const { agents } = context.deps.store
    const request = { name: 'bench', system: SYSTEM, model: 'bench/any', tools: [WEATHER.name] }
    const named = await agents.search(context.organizationId, { name: request.name }, { limit: 1, order: 'asc' })
    return named?.[0] ?? createAgent(request, context)
  }

  return {
    async newConversations(count) {
      agent ??= await theAgent()
      const ids = Array.from({ length: count }, (): ConversationId => `conv-${context.deps.randomness.uuid()}`)
      await Promise.all(ids.map((id) => context.deps.store.conversations.create(newConversation(id, agent!))))
      return ids
    },
    async seed(conversation, messages) {
      agent ??= await theAgent()
      await seedConversation(conversation as ConversationId, { messages, agent, context: context })
    },
    async runTurn(conversation) {
      agent ??= await theAgent()
      const content = [{ type: 'text' as const, text: QUESTION }]
      const sent = await sendMessage({ agent, conversationId: conversation as ConversationId, content }, context)
      const run = await waitForRun(sent.runId, context)
      if (run.stopReason !== 'end_turn') throw new Error(`the run ended ${run.status} / ${run.stopReason}`)
      lastRun = run.id
    },
    async countMessages(conversation) {
      return (await context.deps.store.messages.context(conversation as ConversationId)).length
    },
    async resume() {
      // The takeover started when the app was opened, so the run of a prepared home may be in any state.
      const runs = await listRuns({}, 100, context)
      const ended = await Promise.all(runs.map((run) => waitForRun(run.id, context)))
      const unfinished = ended.find((run) => run.stopReason !== 'end_turn')
      if (unfinished) throw new Error(`the resumed run ended ${unfinished.status} / ${unfinished.stopReason}`)
      return ended.map((run) => run.conversationId)
    },
    /** Token streaming was on, so the log of a run contains every text delta and its end. */
    async check() {
      if (!lastRun) throw new Error('no turn was run')
      const types: string[] = []
      const signal = AbortSignal.timeout(5_000)
      for await (const { chunk } of context.deps.streams.watch(lastRun, { after: 0, signal }))
        types.push(chunk.message_type)
      const texts = types.filter((type) => type === 'assistant_message').length
      if (texts !== TEXT_DELTAS_PER_TURN || types.at(-1) !== 'done')
        throw new Error(`the stream of ${lastRun} has ${texts} text chunks and ends with ${types.at(-1)}`)
    },
    close,
  }
}

/** The compiled build, as shipped. For a profile with the lines of the source, pass the folder `bench/`. */
const loadHoldfast = (dist: string): Promise<typeof import('./holdfast.ts')> =>
  import(new URL(`holdfast.${dist.endsWith('/bench/') ? 'ts' : 'js'}`, dist).href)

function weatherTool(onTool: (() => void) | undefined): Tool {
  return {
    ...WEATHER,
    effects: 'none',
    parallel: false,
    needsApproval: false,
    outputLimit: 50_000,
    timeoutMs: 120_000,
    async run(input) {
      onTool?.()
      return { status: 'success', output: weatherIn((input as { city: string }).city) }
    },
  }
}

function newConversation(id: ConversationId, { id: agentId, organizationId, createdAt }: Agent) {
  return { id, organizationId, agentId, isDefault: false, createdAt, contextStart: 0, nextPosition: 0 }
}

/** Creates a history without turns: one run whose only commit adds the messages. */
async function seedConversation(
  conversationId: ConversationId,
  { messages, agent, context }: { messages: number; agent: Agent; context: ServiceContext },
): Promise<void> {
  const { store, randomness, clock } = context.deps
  const { organizationId } = context
  const at = clock.now()
  const runId: RunId = `run-${randomness.uuid()}`
  const settings = { targets: [agent.model], maxSteps: 1, maxDurationMs: 60_000, streamTokens: false }
  const input = { messageId: `message-${randomness.uuid()}` as const, role: 'user' as const, content: [] }
  const accepted = {
    event: {
      type: 'input-accepted' as const,
      v: 1 as const,
      inputs: [input],
      settings: { ...settings, onGuarded: 'deny' as const, approvalTtlMs: 60_000 },
    },
    at,
    changes: [],
  }
  const opened = await store.runs.open({
    run: {
      id: runId,
      organizationId,
      agentId: agent.id,
      conversationId,
      background: false,
      createdAt: at,
      metadata: {},
    },
    policy: 'reject',
    entry: accepted,
    interruption: accepted,
    steering: accepted,
    claimFor: context.engine!.workerId,
  })
  if (opened.type !== 'opened') throw new Error(`the seed was not opened: ${opened.type}`)
  const changes = pastMessages(messages).map((message): Change => {
    const added = {
      id: `message-${randomness.uuid()}` as const,
      runId,
      body: toBody(message, context),
      createdAt: at,
    }
    return { type: 'add-message', message: added }
  })
  const end: Change = {
    type: 'change-run',
    change: { status: 'completed', stopReason: 'end_turn', completedAt: at, releaseLease: true },
  }
  const result = await store.events.append({
    runId,
    commitId: 'seed',
    writer: { type: 'holder', fence: opened.run.fence },
    seen: opened.run.nextSeq,
    facts: [{ event: { type: 'turn-ended', v: 1, stopReason: 'end_turn' }, at, changes: [...changes, end] }],
    intents: [],
  })
  if (result.type !== 'appended') throw new Error('the seed was refused')
}

function toBody(message: WireMessage, { deps }: ServiceContext): MessageBody {
  switch (message.role) {
    case 'user':
    case 'system':
      return { role: message.role, content: [{ type: 'text', text: message.content }] }
    case 'assistant': {
      const calls = (message.tool_calls ?? []).map((call) => ({
        callId: call.id,
        tool: call.function.name,
        input: JSON.parse(call.function.arguments),
        digest: deps.digest(call.function.arguments),
        needsApproval: false,
        effects: 'none' as const,
        parallel: false,
      }))
      return { role: 'assistant', content: [{ type: 'text', text: message.content }], calls }
    }
    case 'tool':
      return { role: 'tool', outcomes: [{ callId: message.tool_call_id, status: 'success', output: message.content }] }
  }
}

await runJobFromArgv(openEngineSide)
