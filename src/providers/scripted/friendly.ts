import type { MessageBody } from '../../core/message.ts'
import type { Clock } from '../../ports/clock.ts'
import type { ModelProvider, ModelRequest } from '../../ports/model.ts'
import type { Randomness } from '../../ports/randomness.ts'
import { lastInput, sinceInput } from './current-turn.ts'
import { type CallResult, commentOn } from './friendly-comments.ts'
import { answerTo, nextReplyTo } from './friendly-rules.ts'
import { playReply } from './play-reply.ts'
import type { Pace, Reply } from './reply.ts'

/** About as fast as a hosted model, and slow enough to watch and to cancel. */
const READABLE_PACE: Pace = { chunkSize: 5, delayMs: 30 }

type FriendlyOptions = { clock: Pick<Clock, 'sleep'>; randomness: Pick<Randomness, 'uuid'>; pace?: Pace }

/** The demo model `scripted/friendly`: needs no key, knows the built-in tools and keeps no state. */
export function newFriendlyProvider({ clock, randomness, pace = READABLE_PACE }: FriendlyOptions): ModelProvider {
  return {
    stream: (request, { signal }) =>
      playReply({ pace, ...friendlyReply(request) }, request, {
        clock,
        signal,
        newCallId: () => `call-${randomness.uuid()}`,
      }),
  }
}

/** Depends on the request alone, so that a restarted process gives the same reply. */
function friendlyReply(request: ModelRequest): Reply {
  if (request.model !== 'friendly') return unknownModel(request.model)
  const { messages } = request
  const sentence = lastInput(messages)
  const rounds = roundsIn(messages)
  const last = rounds.at(-1)
  if (!last) return withinTools(answerTo(sentence, messages), request)
  const wentWell = last.every(({ outcome }) => outcome.status === 'success')
  const next = wentWell ? nextReplyTo(sentence, { messages, rounds }) : undefined
  return next ? withinTools(next, request) : { text: commentOn(last) }
}

/** The tool results since the last input, one list per answer. */
function roundsIn(messages: readonly MessageBody[]): CallResult[][] {
  const turn = sinceInput(messages)
  const calls = turn.flatMap((body) => (body.role === 'assistant' ? body.calls : []))
  const byId = new Map(calls.map((call) => [call.callId, call]))
  return turn.flatMap((body) => {
    if (body.role !== 'tool') return []
    const results = body.outcomes.flatMap((outcome) => {
      const call = byId.get(outcome.callId)
      return call ? [{ call, outcome }] : []
    })
    return [results]
  })
}

/** Replies with a text instead of calling a tool that the agent does not have. */
function withinTools(reply: Reply, { tools }: ModelRequest): Reply {
  const wanted = 'calls' in reply ? (reply.calls ?? []).map((call) => call.tool) : []
  const missing = wanted.find((name) => !tools.some((tool) => tool.name === name))
  if (!missing) return reply
  return { text: `I would use the tool ${missing} for that, but this agent does not have it. Add it and ask again.` }
}

const unknownModel = (model: string): Reply => ({
  fail: { kind: 'model-unknown', detail: `there is no model scripted/${model}; use scripted/friendly` },
})
