import { argumentsText, type Chunk } from '../chunk.ts'
import type { TurnEvent } from '../event.ts'
import { type AnswerPart, textOf } from '../message.ts'
import { waitsForAnswer } from '../run.ts'
import type { Invariant, StreamRecord } from './record.ts'

export const streamNumbers: Invariant<StreamRecord> = {
  id: 'I24',
  name: 'stream is the log',
  sentence: 'The chunks of a run are numbered from 1 without gaps, unless a reset marks lost ones.',
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
  sentence: 'The stream of a finished run ends with exactly one terminal chunk and states the stop reason.',
  promise: 'nothing is stuck',
  check({ run, events, chunks, ended }) {
    const end = events.find(({ event }) => event.type === 'turn-ended')?.event
    const decoded = chunks.map(({ body }) => decodeChunk(body))
    const terminals = decoded.flatMap((chunk, index) => (chunk.message_type === 'done' ? [index] : []))
    const stops = decoded.flatMap((chunk) => (chunk.message_type === 'stop_reason' ? [chunk.stop_reason] : []))
    if (!ended) {
      // A run cancelled in the queue has no stream until its first reader opens and ends it.
      const mustHaveEnded = end !== undefined && run.fence > 0
      return [
        ...(mustHaveEnded ? ['the run has ended but its stream has not'] : []),
        ...(terminals.length > 0 ? ['it has a terminal chunk but is not marked as ended'] : []),
      ]
    }
    const reason = end?.type === 'turn-ended' ? end.stopReason : undefined
    const isClosed = terminals.length === 1 && terminals[0] === decoded.length - 1
    return [
      ...(isClosed ? [] : [`terminal chunks at [${terminals.map((index) => index + 1)}] of ${decoded.length}`]),
      ...(reason === undefined ? ['it ended before the run did'] : []),
      ...(stops.length === 1 && stops[0] === reason ? [] : [`its stop reasons are [${stops}], the log says ${reason}`]),
    ]
  },
}

export const tokensReconcile: Invariant<StreamRecord> = {
  id: 'I26',
  name: 'tokens reconcile',
  sentence: 'The streamed text and calls of a message equal the stored ones; what is not stored is reset.',
  promise: 'nothing is hidden',
  check({ events, chunks, ended }) {
    const lastTold = chunks.findLast((chunk) => chunk.event > 0)?.event ?? 0
    const texts = streamedTexts(chunks)
    const faults: string[] = []
    const first = events[0]?.event
    const waits = (tool: string) => first?.type === 'input-accepted' && waitsForAnswer(tool, first.settings)
    /** Kept text to be continued, by its message. */
    const kept = new Map<string, AnswerPart[]>()
    for (const { seq, event } of events) {
      if (event.type === 'attempt-failed' && event.kept)
        kept.set(event.kept.answerId, [...(kept.get(event.kept.answerId) ?? []), ...event.kept.content])
      if (!isAnswer(event)) continue
      const content = event.isRest ? [...(kept.get(event.answerId) ?? []), ...event.content] : event.content
      const streamed = texts.get(event.answerId) ?? NOTHING
      texts.delete(event.answerId)
      const isToldInFull = ended || seq <= lastTold
      if (!isToldInFull || streamed.mayBeShort) continue
      if (streamed.text !== textOf(content))
        faults.push(`${event.answerId}: "${brief(streamed.text)}" was streamed, "${brief(textOf(content))}" is stored`)
      for (const [callId, shown] of streamed.calls) {
        const call = event.type === 'answer-received' ? event.calls.find((one) => one.callId === callId) : undefined
        const stored = call
          ? callText({ ...call, isGuarded: waits(call.tool) && call.needsApproval }, argumentsText(call))
          : 'no call'
        const said = callText({ ...shown, tool: shown.name }, shown.json)
        if (stored !== said) faults.push(`${event.answerId}: "${said}" was streamed, "${stored}" is stored`)
      }
      // A cut answer keeps its text, not its reasoning.
      if (event.type === 'answer-received' && streamed.reasoning !== reasoningOf(content))
        faults.push(`${event.answerId}: the reasoning that was streamed is not the one that is stored`)
    }
    if (!ended) return faults
    for (const [id, { text, reasoning, calls }] of texts) {
      const said = text || reasoning || [...calls.values()].map(({ name }) => `a call of ${name}`).join()
      if (said !== '') faults.push(`${id}: "${brief(said)}" was never reset`)
    }
    return faults
  },
}

type StreamedText = {
  text: string
  reasoning: string
  /** The calls whose arguments were streamed in pieces, by call id. */
  calls: Map<string, { name: string; json: string; isGuarded: boolean }>
  mayBeShort: boolean
}

const NOTHING: StreamedText = { text: '', reasoning: '', calls: new Map(), mayBeShort: false }

/** The text and the calls of each message at a subscriber after the last chunk, with resets applied. */
function streamedTexts(chunks: StreamRecord['chunks']): Map<string, StreamedText> {
  const texts = new Map<string, StreamedText>()
  const at = (id: string): StreamedText => {
    const text = texts.get(id) ?? { ...NOTHING, calls: new Map() }
    texts.set(id, text)
    return text
  }
  for (const { body } of chunks) {
    const chunk = decodeChunk(body)
    if (chunk.message_type === 'assistant_message') at(chunk.id).text += chunk.content
    if (chunk.message_type === 'reasoning_message') at(chunk.id).reasoning += chunk.reasoning
    if (chunk.message_type === 'tool_call_delta') addPiece(at(chunk.id), chunk)
    if (chunk.message_type !== 'message_reset') continue
    if (chunk.id !== null) texts.set(chunk.id, { ...NOTHING, calls: new Map() })
    // The lost chunks may belong to any message streamed so far; clients then read the stored messages.
    else for (const text of texts.values()) text.mayBeShort = true
  }
  return texts
}

/** A piece without a name continues a call; one with a name begins it, so a repeated beginning shows in its text. */
function addPiece({ calls }: StreamedText, chunk: Extract<Chunk, { message_type: 'tool_call_delta' }>): void {
  const { tool_call_id, name = '', arguments: json, needs_approval } = chunk
  const call = calls.get(tool_call_id) ?? { name, json: '', isGuarded: needs_approval === true }
  calls.set(tool_call_id, { ...call, json: call.json + json })
}

const callText = ({ tool, isGuarded }: { tool: string; isGuarded: boolean }, json: string): string =>
  `${isGuarded ? 'guarded ' : ''}${tool} ${json}`

const decodeChunk = (body: string): Chunk => JSON.parse(body) as Chunk

const isLossMark = (chunk: Chunk): boolean => chunk.message_type === 'message_reset' && chunk.id === null

const isAnswer = (event: TurnEvent) => event.type === 'answer-received' || event.type === 'answer-cut'

const reasoningOf = (content: readonly AnswerPart[]): string =>
  content.flatMap((part) => (part.type === 'reasoning' ? [part.text] : [])).join('')

const brief = (text: string): string => (text.length > 40 ? `${text.slice(0, 40)}…` : text)
