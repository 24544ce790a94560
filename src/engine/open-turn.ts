import type { Agent } from '../core/agent.ts'
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
import type { CallHome } from './execute-call.ts'
import { type Journal, openJournal } from './journal.ts'
import { type Patient, withPatience } from './patience.ts'
import type { Stop } from './stop.ts'
import { openPrompt, type TurnPrompt } from './turn-prompt.ts'
import { holdPast, type Past } from './warm-past.ts'
import type { World } from './world.ts'

/** A turn with everything it needs in reach. */
export type Opened = {
  run: Run
  journal: Journal
  past: Past
  stream: RunStream
  messages: TurnMessages
  caller: ModelCaller
  home: Omit<CallHome, 'answerId'>
}

type TurnMessages = Pick<World['store']['messages'], 'context'> & {
  newest(conversationId: ConversationId): Promise<Message | undefined>
}

/** Reads what the turn of a claimed run starts from. `fenced`: another worker has taken the run over. */
export async function openTurn({ run, events }: Claim, world: World, stop: Stop): Promise<Opened | 'fenced'> {
  const { store, clock } = world
  const { organizationId, conversationId, fence } = run
  const patient: Patient = (work) => withPatience(work, { clock, signal: stop.left })
  const scope: Scope = { run, world, stop, patient }

  const stream = await openStream(scope)
  if (stream === 'fenced') return 'fenced'
  const turn = catchUpStream(events, stream)
  const known = await patient(() => store.prompts.open(organizationId, conversationId))
  const past = holdPast({ run, known, targets: turn.settings.targets }, world)
  const seen = (events.at(-1)?.seq ?? 0) + 1
  const journal = openJournal({ run, fence, turn, seen, store, stream, clock, stop, past })
  const tools = await toolsOf(turn, known?.agent, scope)
  const prompt = await openPrompt({ run, known, settings: turn.settings }, world, patient)
  return {
    run,
    journal,
    past,
    stream,
    messages: messagesOf(scope),
    caller: callerOf({ stream, tools, prompt }, scope),
    home: homeOf({ stream, tools }, scope),
  }
}

type Scope = { run: Run; world: World; stop: Stop; patient: Patient }

function openStream({ run, world, stop, patient }: Scope): Promise<RunStream | 'fenced'> {
  const { id, fence, chunkBound: bound } = run
  const raiseBound = () => patient(() => world.store.runs.raiseChunkBound(id, fence))
  return patient(() => world.streams.open(id, { fence, bound, raiseBound, signal: stop.left }))
}

/** The tools of one turn: `allowed` are the names its model may call, `specs` how the model is told of them. */
type TurnTools = { registry: ToolRegistry; allowed: string[]; specs: ToolSpec[] }

async function toolsOf(
  { settings: { clientTools = [] } }: Turn,
  agent: Agent | undefined,
  { run, world, patient }: Scope,
): Promise<TurnTools> {
  const own = await agentTools(agent, {
    tools: world.tools,
    mcp: world.mcp,
    stored: (names) => patient(() => world.store.tools.named(run.organizationId, names)),
  })
  const registry = withClientTools(own, clientTools)
  const allowed = [...new Set([...clientTools.map(({ name }) => name), ...(agent?.tools ?? [])])]
  const specs = allowed.flatMap((name) => {
    const tool = registry.find(name)
    return tool ? [{ name, description: tool.description, inputSchema: tool.inputSchema }] : []
  })
  return { registry, allowed, specs }
}

function messagesOf({ run, world, patient }: Scope): TurnMessages {
  const { messages } = world.store
  return {
    context: (id) => patient(() => messages.context(id)),
    async newest(id) {
      const page = await patient(() => messages.list(run.organizationId, id, { limit: 1, take: 'newest' }))
      return page.at(-1)
    },
  }
}

type CallerParts = { stream: RunStream; tools: TurnTools; prompt: TurnPrompt }

function callerOf({ stream, tools, prompt }: CallerParts, { run, world, stop, patient }: Scope): ModelCaller {
  const { store, models, credentials, clock, randomness, digest } = world
  return {
    runId: run.id,
    organizationId: run.organizationId,
    models,
    refused: new Map(),
    modelNotes: { get: (...target) => patient(() => store.modelNotes.get(...target)) },
    credentials: { ...credentials, choose: (...wish) => patient(() => credentials.choose(...wish)) },
    prompt,
    tools: tools.specs,
    resolve: { tools: tools.registry, allowed: tools.allowed, digest },
    clock,
    randomness,
    stream,
    signal: stop.model,
    stopCause: stop.cause,
  }
}

function homeOf({ stream, tools }: Omit<CallerParts, 'prompt'>, { run, world, stop }: Scope): Opened['home'] {
  const { spill, clock, digest } = world
  return {
    organizationId: run.organizationId,
    agentId: run.agentId,
    conversationId: run.conversationId,
    runId: run.id,
    tools: tools.registry,
    spill,
    clock,
    digest,
    progress: (callId, text) => stream.write([{ message_type: 'tool_progress', tool_call_id: callId, text }], 0),
    signal: stop.tools,
  }
}
