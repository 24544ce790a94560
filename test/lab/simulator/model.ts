import type { Part } from '../../../src/core/answer.ts'
import type { FailureKind } from '../../../src/core/failure.ts'
import type { Clock } from '../../../src/ports/clock.ts'
import type { ModelProvider, ModelRequest, Models } from '../../../src/ports/model.ts'
import { lastInput, sinceInput } from '../../../src/providers/scripted/current-turn.ts'
import type { Weather } from './faults.ts'
import type { Kernel } from './kernel.ts'
import type { Observer } from './unreliable-store.ts'

type Parts = { kernel: Kernel; weather: Weather; clock: Clock; observer: Observer; name: string }

/** What passes by itself comes more often, as it does in life. */
const STATUSES: FailureKind[] = [
  'timeout',
  'timeout',
  'rate-limited',
  'rate-limited',
  'overloaded',
  'empty-answer',
  'timeout',
  'rate-limited',
  'overloaded',
  'unreachable',
  'auth-rejected',
  'quota-exhausted',
  'context-overflow',
  'content-refused',
  'empty-answer',
  'invalid-request',
  'model-unknown',
]

/** Says what the message asks for ("once again guarded"), step by step; what goes wrong is the weather's. */
export function simulatedModel(parts: Parts): Models {
  const provider: ModelProvider = { stream: (request, { signal }) => speak(request, signal, parts) }
  return { find: (name) => (name === 'sim' ? provider : undefined) }
}

async function* speak(
  request: ModelRequest,
  signal: AbortSignal,
  { kernel, weather, clock, observer, name }: Parts,
): AsyncGenerator<Part> {
  observer.asked(name, request)
  await clock.sleep(kernel.between(1, 30), signal)
  if (weather.strikes('provider-status', `a request of ${name}`)) {
    const kind = kernel.pick(STATUSES)
    const retryAfter = kernel.chance(0.3) ? { retryAfterMs: kernel.between(0, 40_000) } : {}
    yield { type: 'failure', failure: { kind, detail: `simulated ${kind}`, ...retryAfter } }
    return
  }
  // A number of its own on the bill of every answer: what is recorded can be traced to what was said.
  const bill = kernel.between(1_000, 1_000_000_000)
  const parts = answerTo(request, { bill, repeatsIds: weather.isOn('provider-nonsense') })
  const cutAt = weather.strikes('provider-cut', `a request of ${name}`) ? kernel.between(0, parts.length) : -1
  const stallAt = weather.strikes('provider-stall', `a request of ${name}`) ? kernel.between(0, parts.length) : -1
  for (const [index, part] of parts.entries()) {
    if (signal.aborted || index === cutAt) return
    if (index === stallAt) {
      await clock.sleep(30_000, signal)
      if (!signal.aborted) yield { type: 'failure', failure: { kind: 'timeout', detail: 'simulated stall' } }
      return
    }
    if (part.type === 'finish') observer.answered(bill)
    yield weather.strikes('provider-nonsense', name) ? nonsense(part, kernel) : part
    await clock.sleep(kernel.between(0, 10), signal)
  }
}

/** What servers really send: repeated or missing ids, broken JSON, tools nobody has. */
function nonsense(part: Part, kernel: Kernel): Part {
  if (part.type === 'call-start')
    return { ...part, ...kernel.pick([{ callId: '' }, { callId: 'same' }, { tool: 'nobody-has-it' }]) }
  if (part.type === 'call-delta') return { ...part, json: kernel.pick(['{"broken":', '[]', '']) }
  return part
}

/** Each word of a wish is one step: a `+` joins calls of one answer. Without words left, the model says goodbye. */
function answerTo(request: ModelRequest, { bill, repeatsIds }: { bill: number; repeatsIds: boolean }): Part[] {
  const wish = lastInput(request.messages)
  const steps = sinceInput(request.messages).filter((body) => body.role === 'assistant').length
  const words = wish.split(' ').slice(1)
  const word = words[steps]
  const tools = word?.split('+').filter((name) => request.tools.some((tool) => tool.name === name)) ?? []
  const text = Array.from(
    { length: 4 },
    (_, index): Part => ({ type: 'text-delta', text: `${wish}/${steps}/${index} ` }),
  )
  const thought: Part[] = [
    { type: 'reasoning-delta', text: 'hm ' },
    { type: 'reasoning-signature', signature: 's' },
  ]
  // Some servers count the calls of each answer from zero, all day long.
  const [key] = wish.split(' ')
  const prefix = repeatsIds && /[13579]$/.test(key!) ? 'call' : `call-${key}-${steps}`
  const calls = tools.flatMap((tool, index): Part[] => [
    { type: 'call-start', index, callId: `${prefix}-${index}`, tool },
    { type: 'call-delta', index, json: JSON.stringify({ wish, index }) },
  ])
  const usage: Part = { type: 'usage', usage: { promptTokens: bill, completionTokens: 5 } }
  const finish: Part = { type: 'finish', finish: calls.length > 0 ? 'tool-calls' : 'stop' }
  return [...(calls.length > 0 ? thought : text), ...calls, usage, finish]
}
