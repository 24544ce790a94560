import { aborted } from '../../core/abort.ts'
import type { Part } from '../../core/answer.ts'
import { type MessageBody, textOf } from '../../core/message.ts'
import type { Clock } from '../../ports/clock.ts'
import type { ModelRequest } from '../../ports/model.ts'
import { paceOf, partsOf, type Reply, stalls, tokensIn } from './reply.ts'

type PlayReplyOptions = {
  clock: Pick<Clock, 'sleep'>
  signal: AbortSignal
  /** Without it, ids derive from the length of the history, so the same request gives the same ids. */
  newCallId?: (() => string) | undefined
}

/** Streams one reply at its pace. An abort ends the stream at once, also during a delay or a stall. */
export async function* playReply(
  reply: Reply,
  request: ModelRequest,
  { clock, signal, newCallId }: PlayReplyOptions,
): AsyncGenerator<Part, void, void> {
  const { delayMs } = paceOf(reply)
  const parts = partsOf(reply, {
    promptTokens: promptTokensOf(request),
    newCallId: (index) => newCallId?.() ?? `call-${request.messages.length}-${index}`,
  })
  for (const [index, part] of parts.entries()) {
    if (delayMs > 0 && index > 0 && isPaced(part)) await clock.sleep(delayMs, signal)
    if (signal.aborted) return
    yield part
  }
  if (stalls(reply)) await aborted(signal)
}

const isPaced = (part: Part): boolean => part.type.endsWith('-delta')

const promptTokensOf = ({ system, messages }: ModelRequest): number =>
  tokensIn(messages.reduce((sum, body) => sum + charactersOf(body), system.length))

function charactersOf(body: MessageBody): number {
  switch (body.role) {
    case 'user':
    case 'system':
    case 'assistant':
      return textOf(body.content).length
    case 'tool':
      return body.outcomes.reduce((sum, outcome) => sum + outcome.output.length, 0)
    case 'summary':
      return body.text.length
    case 'approval':
      return 0
  }
}
