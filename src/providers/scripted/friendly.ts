import type { Clock } from '../../ports/clock.ts'
import type { ModelProvider, ModelRequest } from '../../ports/model.ts'
import type { Randomness } from '../../ports/randomness.ts'
import { lastInput, sinceInput } from './current-turn.ts'
import { commentOn, type Result } from './friendly-comments.ts'
import { answerTo } from './friendly-rules.ts'
import { playReply } from './play-reply.ts'
import type { Pace, Reply } from './reply.ts'

/** About as fast as a hosted model, slow enough to watch and to cancel. */
const READABLE_PACE: Pace = { chunkSize: 5, delayMs: 30 }

export type FriendlyOptions = { clock: Pick<Clock, 'sleep'>; randomness: Pick<Randomness, 'uuid'>; pace?: Pace }

/** The model of the first minute, `scripted/friendly`: needs no key, knows the builtin tools, remembers nothing. */
export function friendlyProvider({ clock, randomness, pace = READABLE_PACE }: FriendlyOptions): ModelProvider {
  return {
    stream: (request, { signal }) =>
      playReply({ pace, ...friendlyReply(request) }, request, {
        clock,
        signal,
        newCallId: () => `call-${randomness.uuid()}`,
      }),
  }
}

/** A function of the request alone, so a restarted process says the same. */
export function friendlyReply(request: ModelRequest): Reply {
  if (request.model !== 'friendly') return unknownModel(request.model)
  const results = lastResults(request)
  if (results) return { text: commentOn(results) }
  return withinTools(answerTo(lastInput(request.messages)), request)
}

/** The results that came since the last input, if they are the last thing that happened. */
function lastResults({ messages }: ModelRequest): Result[] | undefined {
  const turn = sinceInput(messages)
  const last = turn.at(-1)
  if (last?.role !== 'tool') return undefined
  const calls = turn.flatMap((body) => (body.role === 'assistant' ? body.calls : []))
  return last.outcomes.flatMap((outcome) => {
    const call = calls.findLast((one) => one.callId === outcome.callId)
    return call ? [{ call, outcome }] : []
  })
}

/** A call to a tool the agent does not have would only be refused: better to say so. */
function withinTools(reply: Reply, { tools }: ModelRequest): Reply {
  const wanted = 'calls' in reply ? (reply.calls ?? []).map((call) => call.tool) : []
  const missing = wanted.find((name) => !tools.some((tool) => tool.name === name))
  if (!missing) return reply
  return { text: `I would use the tool ${missing} for that, but this agent does not have it. Add it and ask again.` }
}

const unknownModel = (model: string): Reply => ({
  fail: { kind: 'model-unknown', detail: `there is no model scripted/${model}; use scripted/friendly` },
})
