import type { DatabaseSync } from 'node:sqlite'
import type { TurnEvent } from '../../../src/core/event.ts'
import { historyFaults } from '../../../src/core/history.ts'
import type { ConversationId } from '../../../src/core/id.ts'
import { type AnswerPart, type Input, inputBody, type MessageBody, textOf } from '../../../src/core/message.ts'
import type { Remedy } from '../../../src/core/recovery.ts'
import { foldTurn, nextAction } from '../../../src/core/turn.ts'
import type { RequestShape } from '../../../src/ports/model.ts'
import type { ModelCall } from './unreliable-store.ts'

export type RequestCheck = {
  /** What is wrong with this request. */
  faultsOf(ask: ModelCall): string[]
  /** A text is known to belong to this conversation. */
  heard(text: string, conversationId: ConversationId): void
  claimed(process: string, runId: string): void
}

type RequestCheckDeps = { database: DatabaseSync; processOf(workerId: string): string | undefined }

/** What a model is sent must be the conversation, whole and once, and go where the log has come to, as it has come there. */
export function newRequestCheck({ database, processOf }: RequestCheckDeps): RequestCheck {
  const conversations = new Map<string, ConversationId>()
  const claims = new Map<string, string[]>()
  /** Slept through its lease: until it learns that, an earlier turn of this very process may still ask for the run. */
  const sleptThrough = (process: string, runId: unknown) =>
    claims.get(String(runId))?.slice(0, -1).includes(process) ?? false
  const running = database.prepare(
    `select id, number, lease_owner, continues from runs where conversation_id = ? and status = 'running'`,
  )
  const continuing = database.prepare(`select lease_owner from runs where status = 'running' and continues is not null`)
  const runs = database.prepare('select number, continues from runs where id = ?')
  const log = database.prepare('select body from events where run_number = ? order by seq')
  // What was compacted away is no longer told; the summary that stands for it comes first.
  const stored = database.prepare(
    `select messages.id as id, body from messages join conversations on conversations.id = conversation_id
     where conversation_id = ? and position >= context_start order by role <> 'summary', position`,
  )
  const ids = database.prepare('select id from messages where conversation_id = ?')

  function claimed(process: string, runId: string): void {
    claims.set(runId, [...(claims.get(runId) ?? []), process])
  }

  /** Such a run is told again what was decided, also when its question was compacted away or forgotten by a reset meanwhile. */
  const goesOnWithAnApproval = (process: string): boolean =>
    continuing.all().some(({ lease_owner }) => processOf(String(lease_owner)) === process)

  /** What the runs were asked that an answered approval goes on with. */
  function questionsBefore(runId: unknown): Input[] {
    const run = runs.get(String(runId))
    if (!run) return []
    const own = log.all(run.number!).flatMap(({ body }) => inputsOf(JSON.parse(String(body)) as TurnEvent))
    return run.continues === null ? own : [...questionsBefore(run.continues), ...own]
  }

  return {
    heard: (text, conversationId) => void conversations.set(text, conversationId),
    claimed,
    faultsOf(ask) {
      const { request, prompt, process } = ask
      const faults = historyFaults(request.messages).map(
        (fault) => `I2 "${prompt.text}" has a broken history: ${fault}`,
      )
      if (!prompt.isSummary && prompt.text === '' && prompt.messages.length > 0 && !goesOnWithAnApproval(process))
        faults.push(`I9 a model is asked by ${process} without any question`)
      // A summary is asked for in words that are nobody's.
      const conversation = prompt.isSummary ? undefined : conversations.get(prompt.text)
      const run = conversation && running.get(conversation)
      if (!conversation || !run || processOf(String(run.lease_owner)) !== process) return faults
      // Whoever opened it to go on with an approval holds it without a claim.
      if (claims.get(String(run.id))?.at(-1) !== process) claimed(process, String(run.id))
      if (sleptThrough(process, run.id) || sleptThrough(process, run.continues)) return faults
      const events = log.all(run.number!).map(({ body }) => JSON.parse(String(body)) as TurnEvent)
      const inputs = events.flatMap(inputsOf)
      // One that lost its lease and does not know yet may still ask for another run.
      const questions = run.continues === null ? inputs : questionsBefore(run.continues)
      if (!questions.some((input) => textOf(input.content) === prompt.text)) return faults
      // The run it continues may still have such a worker here; this one asks nothing before its calls are answered.
      if (run.continues !== null && hasOpenCalls(events)) return faults
      const name = String(run.id)
      return [
        ...faults,
        ...expectedRequestFaults(ask, events).map((fault) => `I16 ${name}: ${fault}`),
        ...historyGaps(name, prompt.messages, {
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

type ExpectedRequest = { target: number; spent: Remedy[]; setAside: string[]; kept: AnswerPart[]; outputCap?: number }

/** Where the log has come to, since the last answer; counted without the fold of the product. */
function expectedRequestOf(events: readonly TurnEvent[]): ExpectedRequest {
  let way: ExpectedRequest = { target: 0, spent: [], setAside: [], kept: [] }
  for (const event of events) {
    if (event.type === 'answer-received') way = { target: way.target, spent: [], setAside: [], kept: [] }
    if (event.type !== 'attempt-failed' || event.purpose === 'summary') continue
    const { remedy, credentialId, nextTarget, outputCap, kept } = event
    if (remedy === 'next-target') way = { target: nextTarget ?? event.target + 1, spent: [], setAside: [], kept: [] }
    if (remedy === 'give-up' || remedy === 'next-target') continue
    if (remedy === 'next-credential' && credentialId) way.setAside.push(credentialId)
    way.spent.push(remedy)
    if (outputCap !== undefined) way.outputCap = outputCap
    if (kept) way.kept.push(...kept.content)
  }
  return way
}

const ADJUSTMENTS: Partial<Record<Remedy, keyof RequestShape>> = {
  'strip-signatures': 'stripSignatures',
  'drop-encrypted-reasoning': 'dropEncryptedReasoning',
  'shrink-images': 'shrinkImages',
  'strip-images': 'stripImages',
  'text-only-results': 'textOnlyResults',
  'drop-long-context-beta': 'dropLongContextBeta',
  'relax-schemas': 'relaxSchemas',
}

function expectedRequestFaults({ provider, request, prompt, grant }: ModelCall, events: TurnEvent[]): string[] {
  const first = events[0]
  if (first?.type !== 'input-accepted') return []
  const way = expectedRequestOf(events)
  const { model, adjustments = {}, outputCap } = request
  const expected = first.settings.targets[way.target]
  const missing = way.spent.flatMap((remedy) => {
    const field = ADJUSTMENTS[remedy]
    return field && adjustments[field] === undefined ? [field] : []
  })
  const owed = new Set(way.spent.map((remedy) => ADJUSTMENTS[remedy]))
  // What was learned of a model is kept.
  const extra = Object.keys(adjustments).filter(
    (field) => field !== 'textOnlyResults' && !owed.has(field as keyof RequestShape),
  )
  const keptText = way.kept.length > 0 ? textOf(way.kept) : undefined
  return [
    ...(expected === `${provider}/${model}` ? [] : [`${model} is asked, its log has come to ${expected}`]),
    ...missing.map((field) => `its request is not shaped by ${field}`),
    ...extra.map((field) => `its request is shaped by ${field}, which nobody asked for`),
    ...(outputCap === way.outputCap ? [] : [`its output is limited to ${outputCap}, by the log to ${way.outputCap}`]),
    ...(prompt.kept === keptText ? [] : [`it goes on after "${prompt.kept}", kept is "${keptText}"`]),
    ...(prompt.kept !== undefined || prompt.isNudged === way.spent.includes('nudge')
      ? []
      : ['it is nudged or not, by mistake']),
    ...(grant && way.setAside.includes(grant.credentialId) ? [`${grant.credentialId} is asked again`] : []),
  ]
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
  const expected = [...told, ...pending].map((body) => JSON.stringify(body))
  const sent = messages.map((body) => JSON.stringify(body))
  const isRight = sent.length >= told.length && sent.every((line, index) => line === expected[index])
  if (isRight) return []
  const place = sent.findIndex((line, index) => line !== expected[index])
  const at = place < 0 ? sent.length : place
  const brief = (line: string | undefined) => line?.slice(0, 300)
  return [
    `I9 ${run}: message ${at} of its request is ${brief(sent[at]) ?? 'missing'}, stored is ${brief(expected[at]) ?? 'nothing'}`,
  ]
}

const newestSummary = (bodies: MessageBody[]): MessageBody[] => {
  const last = bodies.findLastIndex((body) => body.role === 'summary')
  return last < 0 ? bodies : bodies.slice(last)
}

const isShown = (body: MessageBody): boolean =>
  body.role !== 'approval' && !(body.role === 'assistant' && body.content.length === 0 && body.calls.length === 0)
