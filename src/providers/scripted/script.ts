import { createHash } from 'node:crypto'
import { textOf } from '../../core/message.ts'
import type { Clock } from '../../ports/clock.ts'
import type { ModelProvider, ModelRequest } from '../../ports/model.ts'
import { isInput, sinceInput } from './current-turn.ts'
import { playReply } from './play-reply.ts'
import { isFailing, type Reply } from './reply.ts'

/**
 * What the model does in one turn, call by call. The request shows how many answers the turn has, so another process
 * finds the position again. Failing replies come before the answer they delay; the number of failures played is the
 * only state. A script that ends in a failure keeps failing.
 */
export type Script = readonly Reply[]

export const scriptOf = (...replies: Reply[]): Script => replies

type ScriptedOptions = {
  clock: Pick<Clock, 'sleep'>
  scriptFor(request: ModelRequest): Script
  newCallId?: () => string
}

export function newScriptedProvider({ clock, scriptFor, newCallId }: ScriptedOptions): ModelProvider {
  const played = newPlayedFailures()
  return {
    stream: (request, { signal }) =>
      playReply(nextReply(scriptFor(request), request, played), request, { clock, signal, newCallId }),
  }
}

/** The reply for this request. Each call counts as played: the same failure is not returned twice. */
function nextReply(script: Script, request: ModelRequest, played: PlayedFailures): Reply {
  const answers = sinceInput(request.messages).filter((body) => body.role === 'assistant').length
  const { failures, answer } = findScene(script, answers)
  const failure = failures.length > 0 ? failures[played.countOne(request, answers)] : undefined
  return failure ?? answer ?? failures.at(-1) ?? scriptExhausted(script, answers)
}

/** One answer of a script, with the failures before it. */
type Scene = { failures: Reply[]; answer?: Reply }

function findScene(script: Script, wanted: number): Scene {
  let scene = 0
  const failures: Reply[] = []
  for (const reply of script) {
    const fails = isFailing(reply)
    if (scene === wanted) {
      if (!fails) return { failures, answer: reply }
      failures.push(reply)
    } else if (!fails) scene += 1
  }
  return { failures }
}

function scriptExhausted(script: Script, answers: number): Reply {
  const detail = `the script has ${script.length} replies and none for the call after answer ${answers} of this turn`
  return { fail: { kind: 'invalid-request', detail } }
}

type PlayedFailures = {
  /** Returns the number of failures played at this position before, and counts one more. */
  countOne(request: ModelRequest, answers: number): number
}

/** Bounds the memory of a long-lived server; a test has few positions. */
const MAX_POSITIONS = 10_000

function newPlayedFailures(): PlayedFailures {
  const counts = new Map<string, number>()
  return {
    countOne: (request, answers) => {
      const key = positionKey(request, answers)
      const before = counts.get(key) ?? 0
      counts.set(key, before + 1)
      if (counts.size > MAX_POSITIONS) counts.delete(counts.keys().next().value!)
      return before
    },
  }
}

/** Keyed by the inputs, not by the whole request, because a remedy may change the rest between two attempts. */
function positionKey({ model, messages }: ModelRequest, answers: number): string {
  const inputs = messages.filter(isInput).map((input) => [textOf(input.content), input.otid ?? ''])
  return createHash('sha256')
    .update(JSON.stringify([model, answers, inputs]))
    .digest('base64')
}
