import type { Chunk } from '../chunk.ts'
import type { TurnEvent } from '../event.ts'
import { type AnswerPart, textOf } from '../message.ts'
import type { Invariant, StreamRecord } from './record.ts'

export const streamNumbers: Invariant<StreamRecord> = {
  id: 'I24',
  name: 'stream is the log',
  sentence: 'The chunks of a run are numbered from 1 without gap, unless a reset marks that some were lost.',
  promise: 'nothing is lost',
  check({ chunks, events }) {
    const faults: string[] = []
    let last = { number: 0, event: 0 }
    for (const { number, event, body } of chunks) {
      const isNext = number === last.number + 1
      if (!isNext && !(number > last.number && isLossMark(decodeChunk(body))))
        faults.push(`chunk ${number} follows chunk ${last.number}`)
      if (event > 0 && event < last.event) faults.push(`chunk ${number} renders event ${event} after ${last.event}`)
      if (event > events.length) faults.push(`chunk ${number} renders event ${event}, the log has ${events.length}`)
      last = { number, event: Math.max(event, last.event) }
    }
    return faults
  },
}

export const oneTerminal: Invariant<StreamRecord> = {
  id: 'I25',
  name: 'terminal once',
  sentence: 'The stream of a run that is over ends with exactly one terminal chunk, and tells why the run stopped.',
  promise: 'nothing is stuck',
  check({ run, events, chunks, ended }) {
    const end = events.find(({ event }) => event.type === 'turn-ended')?.event
    const told = chunks.map(({ body }) => decodeChunk(body))
    const places = told.flatMap((chunk, index) => (chunk.message_type === 'done' ? [index] : []))
    const stops = told.flatMap((chunk) => (chunk.message_type === 'stop_reason' ? [chunk.stop_reason] : []))
    if (!ended) {
      // Nobody ever opened the stream of a run that was cancelled in the queue; its first reader ends it.
      const mustHaveEnded = end !== undefined && run.fence > 0
      return [
        ...(mustHaveEnded ? ['the run is over and its stream is not'] : []),
        ...(places.length > 0 ? ['it has a terminal chunk and is not ended'] : []),
      ]
    }
    const reason = end?.type === 'turn-ended' ? end.stopReason : undefined
    const isClosed = places.length === 1 && places[0] === told.length - 1
    return [
      ...(isClosed ? [] : [`terminal chunks at [${places.map((place) => place + 1)}] of ${told.length}`]),
      ...(reason === undefined ? ['it ended before the run did'] : []),
      ...(stops.length === 1 && stops[0] === reason ? [] : [`it tells [${stops}], the log says ${reason}`]),
    ]
  },
}

export const tokensReconcile: Invariant<StreamRecord> = {
  id: 'I26',
  name: 'tokens reconcile',
  sentence: 'What was streamed of a message is what is stored of it, and text that came to nothing is taken back.',
  promise: 'nothing is hidden',
  check({ events, chunks, ended }) {
    const lastTold = chunks.findLast((chunk) => chunk.event > 0)?.event ?? 0
    const texts = streamedTexts(chunks)
    const faults: string[] = []
    /** Text that was to go on, by the message it is the beginning of. */
    const kept = new Map<string, AnswerPart[]>()
    for (const { seq, event } of events) {
      if (event.type === 'attempt-failed' && event.kept)
        kept.set(event.kept.answerId, [...(kept.get(event.kept.answerId) ?? []), ...event.kept.content])
      if (!isAnswer(event)) continue
      const content = event.isRest ? [...(kept.get(event.answerId) ?? []), ...event.content] : event.content
      const streamed = texts.get(event.answerId) ?? { text: '', reasoning: '', mayBeShort: false }
      texts.delete(event.answerId)
      const isToldInFull = ended || seq <= lastTold
      if (!isToldInFull || streamed.mayBeShort) continue
      if (streamed.text !== textOf(content))
        faults.push(`${event.answerId}: "${brief(streamed.text)}" was streamed, "${brief(textOf(content))}" is kept`)
      // A cut answer keeps what was said, not what was thought.
      if (event.type === 'answer-received' && streamed.reasoning !== reasoningOf(content))
        faults.push(`${event.answerId}: the reasoning that was streamed is not the one that is kept`)
    }
    if (!ended) return faults
    for (const [id, { text, reasoning }] of texts)
      if (text !== '' || reasoning !== '') faults.push(`${id}: "${brief(text || reasoning)}" was never taken back`)
    return faults
  },
}

type StreamedText = { text: string; reasoning: string; mayBeShort: boolean }

/** What a reader holds of each message at the end, resets carried out. */
function streamedTexts(chunks: StreamRecord['chunks']): Map<string, StreamedText> {
  const texts = new Map<string, StreamedText>()
  const at = (id: string): StreamedText => {
    const text = texts.get(id) ?? { text: '', reasoning: '', mayBeShort: false }
    texts.set(id, text)
    return text
  }
  for (const { body } of chunks) {
    const chunk = decodeChunk(body)
    if (chunk.message_type === 'assistant_message') at(chunk.id).text += chunk.content
    if (chunk.message_type === 'reasoning_message') at(chunk.id).reasoning += chunk.reasoning
    if (chunk.message_type !== 'message_reset') continue
    if (chunk.id !== null) texts.set(chunk.id, { text: '', reasoning: '', mayBeShort: false })
    // Chunks of any message told so far may be among the lost ones: their readers look at the messages instead.
    else for (const text of texts.values()) text.mayBeShort = true
  }
  return texts
}

const decodeChunk = (body: string): Chunk => JSON.parse(body) as Chunk

const isLossMark = (chunk: Chunk): boolean => chunk.message_type === 'message_reset' && chunk.id === null

const isAnswer = (event: TurnEvent) => event.type === 'answer-received' || event.type === 'answer-cut'

const reasoningOf = (content: readonly AnswerPart[]): string =>
  content.flatMap((part) => (part.type === 'reasoning' ? [part.text] : [])).join('')

const brief = (text: string): string => (text.length > 40 ? `${text.slice(0, 40)}…` : text)
