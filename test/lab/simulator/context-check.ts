import type { DatabaseSync } from 'node:sqlite'
import type { TurnEvent } from '../../../src/core/event.ts'
import type { MessageId } from '../../../src/core/id.ts'
import { type MessageBody, textOf } from '../../../src/core/message.ts'
import type { Run } from '../../../src/core/run.ts'
import type { ModelRequest } from '../../../src/ports/model.ts'
import { isPromptForModel, subjectOf } from './parsed-prompt.ts'

/** The mark that takes the place of a summary that no model can write. */
const LEFT_OUT = 'left out: no configured model'

type Compacted = Extract<TurnEvent, { type: 'context-compacted' }>

export type ContextCheck = {
  /** The text of a summary request. */
  heardSummary(request: ModelRequest): void
  /** Faults of a compaction: it must remove from view exactly what it replaces. */
  compacted(run: Run, event: Compacted): string[]
  /** Whether the conversation has an open call now. */
  hasOpenCall(run: Run): boolean
  /** Remembers new messages, and looks for texts that must never be stored. */
  changedMessages(): string[]
  textOfMessage(id: MessageId): string
  /** Messages never change. */
  atTheEnd(): string[]
}

type Accepted = Extract<TurnEvent, { type: 'input-accepted' }>
type Row = { position: number; body: MessageBody }

export function newContextCheck(database: DatabaseSync): ContextCheck {
  const bodies = new Map<string, string>()
  const summaries: string[] = []
  /** By conversation: the last message that the last compaction replaced, and the start of the view after it. */
  const last = new Map<string, { to: number; contextStart: number }>()
  let seen = 0
  const newer = database.prepare('select rowid as row_number, id, body from messages where rowid > ? order by rowid')
  const all = database.prepare('select id, body from messages')
  const one = database.prepare('select body from messages where id = ?')
  const ofConversation = database.prepare(
    'select position, body from messages where conversation_id = ? order by position',
  )
  const accepted = database.prepare(
    "select body from events join runs on runs.number = run_number where runs.id = ? and type = 'input-accepted'",
  )

  /** A requested summary is always made; an automatic one must save enough tokens. */
  const isAskedFor = (run: Run): boolean =>
    accepted.all(run.id).some(({ body }) => (JSON.parse(String(body)) as Accepted).settings.task === 'compact')

  const readRows = (run: Run): Row[] =>
    ofConversation.all(run.conversationId).map(({ position, body }) => ({
      position: Number(position),
      body: JSON.parse(String(body)) as MessageBody,
    }))

  return {
    heardSummary: ({ messages }) => void summaries.push(JSON.stringify(messages)),
    hasOpenCall(run) {
      const rows = readRows(run).filter(({ body }) => body.role !== 'summary' && body.role !== 'approval')
      const { body } = rows.at(-1) ?? {}
      return body?.role === 'assistant' && body.calls.length > 0
    },
    compacted(run, { replaces, contextStart, text, summaryId, tokensBefore, tokensAfter, forTurn, notice }) {
      // It changes nothing that is stored; the requests that follow are compared with it.
      if (forTurn) return []
      const rows = readRows(run).filter(({ body }) => body.role !== 'summary')
      const before = last.get(run.conversationId) ?? { to: -1, contextStart: 0 }
      last.set(run.conversationId, { to: Math.max(before.to, replaces.to), contextStart })
      const gone = rows.filter(({ position }) => position >= before.contextStart && position < contextStart)
      // The notice that a session ended is the newest message, and not for the model.
      const to = notice === undefined ? replaces.to : replaces.to + 1
      const lost = gone.filter(({ position }) => position > to || position < replaces.from)
      const isReset = text === ''
      const words = gone.flatMap(({ body }) => (body.role === 'user' ? [subjectOf(textOf(body.content))] : []))
      const isTold =
        isReset ||
        text.includes(LEFT_OUT) ||
        words.every((word) => summaries.some((shown) => shown.includes(JSON.stringify(word).slice(1, -1))))
      const first = rows.find(({ position }) => position >= contextStart)?.body
      const end = gone.at(-1)?.body
      const isTorn =
        first?.role === 'tool' || (end?.role === 'assistant' && end.calls.length > 0) || end?.role === 'approval'
      const leastLeft = isAskedFor(run) ? 1 : 0.9
      return [
        ...(contextStart < before.contextStart
          ? [`the view moves back from ${before.contextStart} to ${contextStart}`]
          : []),
        ...(replaces.to >= contextStart && !isReset ? [`${replaces.to} is replaced and still in view`] : []),
        ...lost.map(({ position }) => `message ${position} is out of view and ${summaryId} does not cover it`),
        ...(!isReset && gone.length === 0 ? ['it replaces nothing that was in view'] : []),
        ...(!isReset && tokensAfter > leastLeft * tokensBefore
          ? [`it leaves ${tokensAfter} of ${tokensBefore} tokens`]
          : []),
        ...(isTold ? [] : [`the model that wrote ${summaryId} did not see the messages it replaces`]),
        ...(isTorn ? [`the view begins at ${contextStart}, between a call and its results`] : []),
      ]
    },
    textOfMessage(id) {
      const body = JSON.parse(String(one.get(id)?.body ?? '{}')) as Partial<MessageBody>
      return body.role === 'assistant' ? textOf(body.content ?? []) : ''
    },
    changedMessages() {
      const faults: string[] = []
      for (const { row_number: rowNumber, id, body } of newer.all(seen)) {
        seen = Number(rowNumber)
        bodies.set(String(id), String(body))
        const parsed = JSON.parse(String(body)) as MessageBody
        if (parsed.role === 'user' && isPromptForModel(textOf(parsed.content)))
          faults.push(`I5 ${id} is a prompt for the model alone and was stored`)
      }
      return faults
    },
    atTheEnd() {
      const kept = new Map(all.all().map(({ id, body }) => [String(id), String(body)]))
      return [...bodies].flatMap(([id, body]) => (kept.get(id) === body ? [] : [`I6 the message ${id} has changed`]))
    },
  }
}
