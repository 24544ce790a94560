import type { ConversationId } from '../core/id.ts'
import type { Message } from '../core/message.ts'
import type { Run } from '../core/run.ts'
import type { Claim } from '../ports/store.ts'
import { agentTools } from './agent-tools.ts'
import type { ModelCaller } from './call-model.ts'
import { catchUpStream } from './catch-up-stream.ts'
import { withClientTools } from './client-tools.ts'
import type { CallHome, EndedCall } from './execute-call.ts'
import { type Journal, openJournal } from './journal.ts'
import { withPatience } from './patience.ts'
import type { Stop } from './stop.ts'
import { promptFrom, systemPrompt } from './system-prompt.ts'
import { holdPast, type Past } from './warm-past.ts'
import type { World } from './world.ts'

/** A turn with everything it needs in reach. */
export type Opened = {
  run: Run
  fence: number
  messages: Pick<World['store']['messages'], 'context'> & {
    newest(conversationId: ConversationId): Promise<Message | undefined>
  }
  journal: Journal
  past: Past
  stream: Awaited<ReturnType<World['streams']['open']>> & object
  caller: ModelCaller
  home: Omit<CallHome, 'answerId'>
  /** What the model is told first, as it is kept now. */
  prompt(): Promise<string>
  /** Ends what tools left running for this conversation. */
  endProcesses(): Promise<void>
  inFlight: Map<string, Promise<EndedCall>>
  left: Promise<'left'>
  timeSpent: number
}

export async function openTurn({ run, events }: Claim, world: World, stop: Stop): Promise<Opened | 'fenced'> {
  const { store, streams, clock, randomness, digest, models, credentials, spill } = world
  const { organizationId, agentId, conversationId, id: runId, fence } = run
  const patient = <T>(work: () => Promise<T>) => withPatience(work, { clock, signal: stop.left })

  const raiseBound = () => patient(() => store.runs.raiseChunkBound(runId, fence))
  const stream = await patient(() =>
    streams.open(runId, { fence, bound: run.chunkBound, raiseBound, signal: stop.left }),
  )
  if (stream === 'fenced') return 'fenced'
  const turn = catchUpStream(events, stream)
  const seen = (events.at(-1)?.seq ?? 0) + 1
  const known = await patient(() => store.prompts.open(organizationId, conversationId))
  const past = holdPast({ run, known, targets: turn.settings.targets }, world)
  const journal = openJournal({ run, fence, turn, seen, store, stream, clock, stop, past })

  const agent = known?.agent
  const { clientTools = [] } = turn.settings
  const own = await agentTools(agent, {
    ...{ tools: world.tools, mcp: world.mcp },
    stored: (names) => patient(() => store.tools.named(organizationId, names)),
  })
  const tools = withClientTools(own, clientTools)
  const { system: instead, addendum } = turn.settings
  const whole = (text: string) => (addendum === undefined ? text : `${text}\n\n${addendum}`)
  const system = whole(instead ?? (known ? await patient(() => promptFrom(known.system, run, world)) : ''))
  const prompt = async () => whole(instead ?? (await patient(() => systemPrompt(run, world))))
  const allowed = [...new Set([...clientTools.map(({ name }) => name), ...(agent?.tools ?? [])])]
  const specs = allowed.flatMap((name) => {
    const tool = tools.find(name)
    return tool ? [{ name, description: tool.description, inputSchema: tool.inputSchema }] : []
  })
  const caller: ModelCaller = {
    ...{ runId, organizationId, models, refused: new Map() },
    modelNotes: { get: (...place) => patient(() => store.modelNotes.get(...place)) },
    credentials: { ...credentials, choose: (...wish) => patient(() => credentials.choose(...wish)) },
    system,
    tools: specs,
    resolve: { tools, allowed, digest },
    clock,
    randomness,
    stream,
    signal: stop.model,
    stopCause: stop.cause,
  }
  const progress = (callId: string, text: string) =>
    stream.write([{ message_type: 'tool_progress', tool_call_id: callId, text }], 0)
  const home: Omit<CallHome, 'answerId'> = {
    ...{ organizationId, agentId, conversationId, runId, tools, spill, clock, digest, progress },
    signal: stop.tools,
  }
  const left = new Promise<'left'>((resolve) => {
    stop.left.addEventListener('abort', () => resolve('left'), { once: true })
  })
  const newestOf = (id: ConversationId) => store.messages.list(organizationId, id, { limit: 1, take: 'newest' })
  const messages = {
    context: (id: ConversationId) => patient(() => store.messages.context(id)),
    newest: async (id: ConversationId) => (await patient(() => newestOf(id))).at(-1),
  }
  return {
    run,
    fence,
    messages,
    journal,
    past,
    stream,
    caller,
    home,
    prompt,
    endProcesses: () => world.endProcesses(conversationId),
    inFlight: new Map(),
    left,
    timeSpent: timeSpent(events),
  }
}

/** How long the run has been worked on before this claim. The time between a death and its takeover does not count. */
function timeSpent(events: Claim['events']): number {
  let spent = 0
  for (const [index, { at, event }] of events.entries())
    if (index > 0 && event.type !== 'worker-lost') spent += Math.max(0, at - events[index - 1]!.at)
  return spent
}
