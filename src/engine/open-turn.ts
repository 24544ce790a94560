import type { Agent } from '../core/agent.ts'
import { defined } from '../core/defined.ts'
import type { ConversationId } from '../core/id.ts'
import type { Message } from '../core/message.ts'
import type { Run } from '../core/run.ts'
import type { Turn } from '../core/turn.ts'
import type { ToolSpec } from '../ports/model.ts'
import type { Claim } from '../ports/store.ts'
import type { RunStream } from '../ports/streams.ts'
import type { ToolRegistry } from '../ports/tool.ts'
import { agentTools } from './agent-tools.ts'
import type { ModelCaller } from './call-model.ts'
import { catchUpStream } from './catch-up-stream.ts'
import { withClientTools } from './client-tools.ts'
import type { EngineDeps } from './engine-deps.ts'
import type { CallContext } from './execute-call.ts'
import { type AcquiredHistory, acquireHistory } from './history-cache.ts'
import { type Journal, openJournal } from './journal.ts'
import { retryWhileTransient, type StoreRetry } from './retry-store.ts'
import type { Stop } from './stop.ts'
import { newTurnAccount } from './turn-account.ts'
import { openPrompt, type TurnPrompt } from './turn-prompt.ts'

/** A turn that is ready to run. */
export type OpenedTurn = {
  run: Run
  journal: Journal
  history: AcquiredHistory
  stream: RunStream
  messages: TurnMessages
  caller: ModelCaller
  callContext: Omit<CallContext, 'answerId'>
}

type TurnMessages = Pick<EngineDeps['store']['messages'], 'context'> & {
  newest(conversationId: ConversationId): Promise<Message | undefined>
}

/** Prepares the turn of a claimed run. `fenced`: another worker has taken the run over. */
export async function openTurn({ run, events }: Claim, deps: EngineDeps, stop: Stop): Promise<OpenedTurn | 'fenced'> {
  const { store, clock } = deps
  const { organizationId, conversationId, fence } = run
  const retry: StoreRetry = (work) => retryWhileTransient(work, { clock, signal: stop.left })
  const scope: TurnScope = { run, deps, stop, retry }

  const stream = await openStream(scope)
  if (stream === 'fenced') return 'fenced'
  const turn = catchUpStream(events, stream)
  const openedPrompt = await retry(() => store.prompts.open(organizationId, conversationId))
  const history = acquireHistory({ run, openedPrompt, targets: turn.settings.targets }, deps)
  const nextSeq = (events.at(-1)?.seq ?? 0) + 1
  const journal = openJournal({ run, fence, turn, nextSeq, store, stream, clock, stop, cached: history })
  const tools = await loadTurnTools(turn, openedPrompt?.agent, scope)
  const prompt = await openPrompt({ run, openedPrompt, settings: turn.settings }, deps, retry)
  return {
    run,
    journal,
    history,
    stream,
    messages: newTurnMessages(scope),
    caller: newModelCaller({ stream, tools, prompt }, scope),
    callContext: newCallContext({ stream, tools }, scope),
  }
}

type TurnScope = { run: Run; deps: EngineDeps; stop: Stop; retry: StoreRetry }

function openStream({ run, deps, stop, retry }: TurnScope): Promise<RunStream | 'fenced'> {
  const { id, fence, chunkBound: bound } = run
  const raiseBound = () => retry(() => deps.store.runs.raiseChunkBound(id, fence))
  return retry(() => deps.streams.open(id, { fence, bound, raiseBound, signal: stop.left }))
}

/** The tools of one turn: `allowed` are the names that the model may call, `specs` are their descriptions for it. */
type TurnTools = { registry: ToolRegistry; allowed: string[]; specs: ToolSpec[] }

async function loadTurnTools(
  { settings: { clientTools = [], onlyTools } }: Turn,
  agent: Agent | undefined,
  { run, deps, retry }: TurnScope,
): Promise<TurnTools> {
  const own = await agentTools(agent, {
    tools: deps.tools,
    mcp: deps.mcp,
    sources: deps.sources,
    stored: (names) => retry(() => deps.store.tools.named(run.organizationId, names)),
  })
  const registry = withClientTools(own, clientTools)
  const usable = (agent?.tools ?? []).filter((name) => onlyTools?.includes(name) ?? true)
  const allowed = [...new Set([...clientTools.map(({ name }) => name), ...usable])]
  const specs = allowed.flatMap((name) => {
    const tool = registry.find(name)
    return tool ? [{ name, description: tool.description, inputSchema: tool.inputSchema }] : []
  })
  return { registry, allowed, specs }
}

/** Also where a reset cleared the lists: positions go on. */
const NEWEST = { limit: 1, take: 'newest', cleared: 'too' } as const

function newTurnMessages({ run, deps, retry }: TurnScope): TurnMessages {
  const { messages } = deps.store
  return {
    context: (id) => retry(() => messages.context(id)),
    async newest(id) {
      const page = await retry(() => messages.list(run.organizationId, id, NEWEST))
      return page.at(-1)
    },
  }
}

function newModelCaller(
  { stream, tools, prompt }: { stream: RunStream; tools: TurnTools; prompt: TurnPrompt },
  { run, deps, stop, retry }: TurnScope,
): ModelCaller {
  const { store, models, credentials, clock, randomness, digest } = deps
  return {
    runId: run.id,
    models,
    refusedSecrets: new Map(),
    modelNotes: { get: (...target) => retry(() => store.modelNotes.get(...target)) },
    credentials: { ...credentials, choose: (...options) => retry(() => credentials.choose(...options)) },
    prompt,
    tools: tools.specs,
    resolve: { tools: tools.registry, allowed: tools.allowed, digest },
    askedAbout: (callIds) => retry(() => store.runs.askedAbout(run.conversationId, callIds)),
    clock,
    randomness,
    stream,
    signal: stop.model,
    stopCause: stop.cause,
    ...defined({ account: deps.shares && newTurnAccount(run, deps.shares, retry) }),
  }
}

function newCallContext(
  { stream, tools }: { stream: RunStream; tools: TurnTools },
  { run, deps, stop }: TurnScope,
): OpenedTurn['callContext'] {
  const { spill, clock, digest } = deps
  return {
    organizationId: run.organizationId,
    agentId: run.agentId,
    conversationId: run.conversationId,
    runId: run.id,
    tools: tools.registry,
    spill: spill.of(run.agentId),
    clock,
    digest,
    progress: (callId, text) => stream.write([{ message_type: 'tool_progress', tool_call_id: callId, text }], 0),
    signal: stop.tools,
  }
}
