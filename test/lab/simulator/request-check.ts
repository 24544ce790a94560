import type { DatabaseSync } from 'node:sqlite'
import type { TurnEvent } from '../../../src/core/event.ts'
import { historyFaults } from '../../../src/core/history.ts'
import type { ConversationId } from '../../../src/core/id.ts'
import { type Input, inputBody, type MessageBody, textOf } from '../../../src/core/message.ts'
import { foldTurn, nextAction } from '../../../src/core/turn.ts'
import type { ModelRequest } from '../../../src/ports/model.ts'
import { lastInput } from '../../../src/providers/scripted/current-turn.ts'

export type RequestCheck = {
  /** What is wrong with this request. `holder` is the process that holds a run, if anybody does. */
  faultsOf(process: string, request: ModelRequest): string[]
  /** A text is known to belong to this conversation. */
  heard(text: string, conversationId: ConversationId): void
}

type Parts = { database: DatabaseSync; processOf(workerId: string): string | undefined }

/** What a model is sent must be the conversation, whole and once, and go to the target the log has come to. */
export function newRequestCheck({ database, processOf }: Parts): RequestCheck {
  const conversations = new Map<string, ConversationId>()
  const running = database.prepare(
    `select id, number, lease_owner, continues from runs where conversation_id = ? and status = 'running'`,
  )
  const log = database.prepare('select body from events where run_number = ? order by seq')
  // What was compacted away is no longer told; the summary that stands for it comes first.
  const stored = database.prepare(
    `select messages.id as id, body from messages join conversations on conversations.id = conversation_id
     where conversation_id = ? and position >= context_start order by role <> 'summary', position`,
  )

  const ids = database.prepare('select id from messages where conversation_id = ?')

  return {
    heard: (text, conversationId) => void conversations.set(text, conversationId),
    faultsOf(process, { messages, model }) {
      const wish = lastInput(messages)
      const faults = historyFaults(messages).map((fault) => `I2 "${wish}" is asked with a broken history: ${fault}`)
      // A summary is asked for in one message that is nobody's.
      const conversation = conversations.get(wish)
      const run = conversation && running.get(conversation)
      if (!conversation || !run || processOf(String(run.lease_owner)) !== process) return faults
      const events = log.all(run.number!).map(({ body }) => JSON.parse(String(body)) as TurnEvent)
      const inputs = events.flatMap(inputsOf)
      // One that lost its lease and does not know yet may still ask for another run.
      if (run.continues === null && !inputs.some((input) => textOf(input.content) === wish)) return faults
      // The run it continues may still have such a worker here; this one asks nothing before its calls are answered.
      if (run.continues !== null && hasOpenCalls(events)) return faults
      return [
        ...faults,
        ...targetFaults(String(run.id), model, events),
        ...historyGaps(String(run.id), messages, {
          stored: stored.all(conversation) as Stored[],
          known: new Set(ids.all(conversation).map(({ id }) => String(id))),
          inputs,
        }),
      ]
    },
  }
}

const inputsOf = (event: TurnEvent): Input[] =>
  event.type === 'input-accepted' || event.type === 'input-steered' ? event.inputs : []

const hasOpenCalls = (events: TurnEvent[]): boolean => nextAction(foldTurn(events), 0).type !== 'call-model'

function targetFaults(run: string, model: string, events: TurnEvent[]): string[] {
  const first = events[0]
  if (first?.type !== 'input-accepted') return []
  let target = 0
  for (const event of events)
    if (event.type === 'attempt-failed' && event.remedy === 'next-target' && event.purpose !== 'summary')
      target = event.nextTarget ?? event.target + 1
  const expected = first.settings.targets[target]
  return expected === `sim/${model}` ? [] : [`I16 ${run}: ${model} is asked, its log has come to ${expected}`]
}

type Stored = { id: string; body: string }

/** The request is what is stored and then what was accepted; a steer that just came may still be missing. */
function historyGaps(
  run: string,
  messages: readonly MessageBody[],
  { stored, known, inputs }: { stored: Stored[]; known: ReadonlySet<string>; inputs: Input[] },
): string[] {
  const told = newestSummary(stored.map(({ body }) => JSON.parse(body) as MessageBody).filter(isShown))
  const pending = inputs.filter(({ messageId }) => !known.has(messageId)).map(inputBody)
  const expected = [...told, ...pending].map(brief)
  const sent = messages.map(brief)
  const isRight = sent.length >= told.length && sent.every((line, index) => line === expected[index])
  if (isRight) return []
  const place = sent.findIndex((line, index) => line !== expected[index])
  const at = place < 0 ? sent.length : place
  return [`I9 ${run}: message ${at} of its request is ${sent[at] ?? 'missing'}, stored is ${expected[at] ?? 'nothing'}`]
}

const newestSummary = (bodies: MessageBody[]): MessageBody[] => {
  const last = bodies.findLastIndex((body) => body.role === 'summary')
  return last < 0 ? bodies : bodies.slice(last)
}

const isShown = (body: MessageBody): boolean =>
  body.role !== 'approval' && !(body.role === 'assistant' && body.content.length === 0 && body.calls.length === 0)

function brief(body: MessageBody): string {
  switch (body.role) {
    case 'user':
    case 'system':
      return `${body.role} "${textOf(body.content)}"`
    case 'assistant':
      return `answer "${textOf(body.content)}" [${body.calls.map((call) => call.callId)}]`
    case 'tool':
      return `results [${body.outcomes.map((outcome) => `${outcome.callId} ${outcome.status}`)}]`
    case 'approval':
    case 'summary':
      return body.role
  }
}
