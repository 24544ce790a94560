import type { Part } from '../../../src/core/answer.ts'
import { defined } from '../../../src/core/defined.ts'
import { estimateAll, fixedTokens, textTokens } from '../../../src/core/token-estimate.ts'
import type { Clock } from '../../../src/ports/clock.ts'
import type { ModelProvider, ModelRequest, ModelStreamOptions, Models } from '../../../src/ports/model.ts'
import type { FaultInjector } from './faults.ts'
import type { Kernel } from './kernel.ts'
import { type ParsedPrompt, parsePrompt } from './parsed-prompt.ts'
import type { Setup } from './setup.ts'
import type { Observer } from './unreliable-store.ts'
import type { Vendors } from './vendors.ts'

type SimulatedModelDeps = {
  kernel: Kernel
  injector: FaultInjector
  clock: Clock
  observer: Observer
  vendors: Vendors
  setup: Setup
  name: string
}

/** Answers with the calls that the message names ("once again guarded"), step by step; the injector adds faults. */
export function simulatedModels(parts: SimulatedModelDeps): Models {
  const providers = new Map(['sim', 'spare'].map((provider) => [provider, simulatedProvider(provider, parts)]))
  return { find: (name) => providers.get(name) }
}

function simulatedProvider(provider: string, parts: SimulatedModelDeps): ModelProvider {
  const { setup } = parts
  const connection = { isStale: false }
  return {
    stream: (request, options) => streamAnswer(request, options, { ...parts, provider, connection }),
    endpoint: { baseUrl: `https://${provider}.simulated`, isAggregator: provider === 'sim' && setup.isAggregator },
    factsOf: (model) => defined({ window: knownWindowOf(model, setup), maxOutput: setup.maxOutput || undefined }),
    adviceFor: () => 'ask whoever runs the simulation',
    async renewConnections() {
      connection.isStale = false
    },
  }
}

/** Undefined: the server does not state it. */
export const knownWindowOf = (model: string, { windows, stated }: Setup): number | undefined =>
  stated.includes(model) ? windows[model] : undefined

/** Tokens as this model counts them. */
export const countTokens = (request: ModelRequest): number => fixedTokens(request) + estimateAll(request.messages)

type ModelConnection = SimulatedModelDeps & { provider: string; connection: { isStale: boolean } }

async function* streamAnswer(
  request: ModelRequest,
  { signal, grant }: ModelStreamOptions,
  line: ModelConnection,
): AsyncGenerator<Part> {
  const { kernel, injector, clock, observer, name, provider, connection, vendors } = line
  const prompt = parsePrompt(request)
  const requestId = observer.asked({
    process: name,
    provider,
    request,
    prompt,
    at: clock.now(),
    ...defined({ grant }),
  })
  await clock.sleep(kernel.between(1, 30), signal)
  const secret = grant ? { secret: grant.secret } : {}
  const refusal = vendors.refusalOf({ provider, request, ...secret, connection, isSummary: prompt.isSummary })
  if (refusal) {
    yield { type: 'failure', failure: { ...refusal, requestId } }
    return
  }
  // Each answer has a unique number in its usage, so that a stored answer can be traced to its request.
  const bill = kernel.between(1_000, 1_000_000_000)
  const answer = answerTo(request, prompt, { bill, repeatsIds: injector.isOn('provider-nonsense') })
  const parts = spoil(answer.parts, line)
  // An empty continuation means that the text was already complete.
  const isMute = !parts.some(({ type }) => type === 'text-delta')
  const text = isMute && prompt.kept !== undefined ? prompt.kept : answer.text
  const cutAt = injector.strikes('provider-cut', `a request of ${name}`) ? kernel.between(0, parts.length) : -1
  const stallAt = injector.strikes('provider-stall', `a request of ${name}`) ? kernel.between(0, parts.length) : -1
  for (const [index, part] of parts.entries()) {
    if (signal.aborted || index === cutAt) return
    if (index === stallAt) {
      await clock.sleep(30_000, signal)
      const kind = index === 0 ? 'timeout' : 'stalled'
      if (!signal.aborted) yield { type: 'failure', failure: { kind, detail: 'simulated stall', requestId } }
      return
    }
    if (part.type === 'finish') observer.answered(bill, text)
    yield injector.strikes('provider-nonsense', name) ? malformedPart(part, kernel) : part
    await clock.sleep(kernel.between(0, 10), signal)
  }
}

/** Malformed output of real servers: repeated or missing ids, invalid JSON, unknown tools. */
function malformedPart(part: Part, kernel: Kernel): Part {
  if (part.type === 'call-start')
    return { ...part, ...kernel.pick([{ callId: '' }, { callId: 'same' }, { tool: 'nobody-has-it' }]) }
  if (part.type === 'call-delta') return { ...part, json: kernel.pick(['{"broken":', '[]', '']) }
  return part
}

/** Unusable answers: empty, only reasoning, or cut off by the output limit. */
function spoil(parts: Part[], { kernel, injector, name }: ModelConnection): Part[] {
  const isMute = kernel.chance(0.5)
  const length = kernel.between(1, 4)
  const isHollow = injector.strikes('provider-hollow', name)
  const isCut = injector.strikes('provider-truncates', name)
  const isContent = ({ type }: Part) => type === 'text-delta' || type === 'call-start' || type === 'call-delta'
  const tail = parts.filter(({ type }) => type === 'usage')
  const limit: Part = { type: 'finish', finish: 'length' }
  if (isHollow) {
    const thought: Part[] = isMute ? [] : [{ type: 'reasoning-delta', text: 'hm ' }]
    const finish: Part = isCut && !isMute ? limit : { type: 'finish', finish: 'stop' }
    return [...thought, ...tail, finish]
  }
  if (!isCut) return parts
  const first = parts.findIndex(isContent)
  return first < 0 ? parts : [...parts.slice(0, first + length).filter((part) => !ENDS.has(part.type)), ...tail, limit]
}

const ENDS: ReadonlySet<Part['type']> = new Set(['usage', 'finish'])

type SimulatedAnswer = {
  parts: Part[] /** What the whole text is, also where this answer is only the rest of it. */
  text: string
}

/** Each word of the message is one step; `+` joins calls of one answer. After the last word the model ends the turn. */
function answerTo(
  request: ModelRequest,
  prompt: ParsedPrompt,
  { bill, repeatsIds }: { bill: number; repeatsIds: boolean },
): SimulatedAnswer {
  const promptTokens = countTokens(request)
  const usageOf = (parts: Part[]): Part => {
    const completionTokens = textTokens(JSON.stringify(parts))
    return { type: 'usage', usage: { promptTokens, completionTokens, reasoningTokens: bill } }
  }
  const stop: Part = { type: 'finish', finish: 'stop' }
  const say = (pieces: string[]): Part[] => pieces.map((text) => ({ type: 'text-delta', text }))
  if (prompt.isSummary) {
    // Some summaries are longer than the windows of the day.
    const told = 'what was said '.repeat(bill % 3 === 0 ? 400 : 1)
    const parts = say([told])
    return { parts: [...parts, usageOf(parts), stop], text: told }
  }
  if (prompt.kept !== undefined) {
    const pieces = piecesOf(...subjectOf(prompt.kept))
    const text = pieces.join('')
    const parts = say([text.slice(prompt.kept.length)].filter(Boolean))
    return { parts: [...parts, usageOf(parts), stop], text }
  }
  const { text, steps } = prompt
  const word = text.split(' ').slice(1)[steps]
  const tools = word?.split('+').filter((name) => request.tools.some((tool) => tool.name === name)) ?? []
  if (tools.length === 0) {
    const pieces = piecesOf(text, String(steps))
    const parts = say(pieces)
    return { parts: [...parts, usageOf(parts), stop], text: pieces.join('') }
  }
  // Some servers number the calls of each answer from zero.
  const [key] = text.split(' ')
  const prefix = repeatsIds && /[13579]$/.test(key!) ? 'call' : `call-${key}-${steps}-${bill}`
  const calls = tools.flatMap((tool, index): Part[] => [
    { type: 'call-start', index, callId: `${prefix}-${index}`, tool },
    ...argumentPieces({ wish: text, index }).map((json): Part => ({ type: 'call-delta', index, json })),
  ])
  const thought = bill % 3 === 0 ? [] : THOUGHT
  const parts = [...thought, ...calls]
  return { parts: [...parts, usageOf(parts), { type: 'finish', finish: 'tool-calls' }], text: '' }
}

/** Models space their JSON and stream it in pieces. */
function argumentPieces(input: object): string[] {
  const json = JSON.stringify(input, null, 1)
  const half = json.length >> 1
  return [json.slice(0, 3), json.slice(3, half), json.slice(half)]
}

const THOUGHT: Part[] = [
  { type: 'reasoning-delta', text: 'hm ' },
  { type: 'reasoning-signature', signature: 's' },
  { type: 'encrypted-reasoning', itemId: 'item', data: 'sealed', origin: 'openai-responses' },
]

const piecesOf = (text: string, step: string): string[] =>
  Array.from({ length: 4 }, (_, index) => `${text}/${step}/${index} `)

/** The subject of a continued text is in its first piece. */
function subjectOf(kept: string): [string, string] {
  const [, text = '', step = ''] = /^(.*?)\/(\d+)\/0 /s.exec(kept) ?? []
  return [text, step]
}
