import type { DatabaseSync } from 'node:sqlite'
import { isDeepStrictEqual } from 'node:util'
import { LEAST_ROOM } from '../../../src/core/context-window.ts'
import type { TurnEvent } from '../../../src/core/event.ts'
import { historyFaults } from '../../../src/core/history.ts'
import type { ConversationId } from '../../../src/core/id.ts'
import { type AnswerPart, type Input, inputBody, type MessageBody, textOf } from '../../../src/core/message.ts'
import type { Remedy } from '../../../src/core/recovery.ts'
import type { RequestAdjustments } from '../../../src/core/request-adjustments.ts'
import { fixedTokens } from '../../../src/core/token-estimate.ts'
import { foldTurn, nextAction } from '../../../src/core/turn.ts'
import { countTokens, knownWindowOf } from './model.ts'
import type { NoteCheck } from './note-check.ts'
import { subjectOf } from './parsed-prompt.ts'
import type { Setup } from './setup.ts'
import type { ModelCall } from './unreliable-store.ts'

export type RequestCheck = {
  /** Faults of this request. */
  faultsOf(ask: ModelCall): string[]
  /** Records that a text belongs to this conversation. */
  heard(text: string, conversationId: ConversationId): void
  claimed(process: string, runId: string): void
}

type RequestCheckDeps = {
  database: DatabaseSync
  notes: NoteCheck
  setup: Setup
  processOf(workerId: string): string | undefined
}

/** A model request must contain the whole conversation once, and follow the target and adjustments of the log. */
export function newRequestCheck({ database, notes, setup, processOf }: RequestCheckDeps): RequestCheck {
  const conversations = new Map<string, ConversationId>()
  const claims = new Map<string, string[]>()
  /** A process paused beyond its lease: until it notices, its earlier turn may still call the model for the run. */
  const sleptThrough = (process: string, runId: unknown) =>
    claims.get(String(runId))?.slice(0, -1).includes(process) ?? false
  const running = database.prepare(
    `select id, number, lease_owner, continues from runs where conversation_id = ? and status = 'running'`,
  )
  const continuing = database.prepare(`select lease_owner from runs where status = 'running' and continues is not null`)
  const runs = database.prepare('select number, continues from runs where id = ?')
  const log = database.prepare('select body from events where run_number = ? order by seq')
  // Compacted messages are no longer sent; the summary that replaces them comes first.
  const stored = database.prepare(
    `select messages.id as id, body from messages join conversations on conversations.id = conversation_id
     where conversation_id = ? and position >= context_start order by role <> 'summary', position`,
  )
  const ids = database.prepare('select id from messages where conversation_id = ?')

  function claimed(process: string, runId: string): void {
    claims.set(runId, [...(claims.get(runId) ?? []), process])
  }

  /** A run that continues an approval gets the decisions even if its question was compacted or reset. */
  const goesOnWithAnApproval = (process: string): boolean =>
    continuing.all().some(({ lease_owner }) => processOf(String(lease_owner)) === process)

  /** Inputs of the runs that an answered approval continues. */
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
        (fault) => `I2 "${prompt.text}" has an invalid history: ${fault}`,
      )
      faults.push(...lengthFaults(ask, setup))
      if (!prompt.isSummary && prompt.text === '' && prompt.messages.length > 0 && !goesOnWithAnApproval(process))
        faults.push(`I9 ${process} calls a model without any question`)
      // The prompt of a summary belongs to no conversation.
      const conversation = prompt.isSummary ? undefined : conversations.get(prompt.text)
      const run = conversation && running.get(conversation)
      if (!conversation || !run || processOf(String(run.lease_owner)) !== process) return faults
      // The process that opened the run to continue an approval holds it without a claim.
      if (claims.get(String(run.id))?.at(-1) !== process) claimed(process, String(run.id))
      if (sleptThrough(process, run.id) || sleptThrough(process, run.continues)) return faults
      const events = log.all(run.number!).map(({ body }) => JSON.parse(String(body)) as TurnEvent)
      const inputs = events.flatMap(inputsOf)
      // A worker that has not noticed its lost lease may still call the model for another run.
      const questions = run.continues === null ? inputs : questionsBefore(run.continues)
      if (!questions.some((input) => subjectOf(textOf(input.content)) === prompt.text)) return faults
      // The continued run may have such a worker here; the new run calls no model before its calls are answered.
      if (run.continues !== null && hasOpenCalls(events)) return faults
      const name = String(run.id)
      return [
        ...faults,
        ...expectedRequestFaults(ask, events, notes.expectedOf(ask)).map((fault) => `I16 ${name}: ${fault}`),
        ...historyGaps(name, prompt.messages, {
          stored: stored.all(conversation) as Stored[],
          known: new Set(ids.all(conversation).map(({ id }) => String(id))),
          inputs,
          narrowed: events.findLast((event) => event.type === 'context-compacted' && event.forTurn),
        }),
      ]
    },
  }
}

const inputsOf = (event: TurnEvent): Input[] =>
  event.type === 'input-accepted' || event.type === 'input-steered' ? event.inputs : []

const hasOpenCalls = (events: TurnEvent[]): boolean => nextAction(foldTurn(events), 0).type !== 'call-model'

type ExpectedRequest = { target: number; spent: Remedy[]; setAside: string[]; kept: AnswerPart[]; outputCap?: number }

/** Target, remedies and adjustments since the last answer; computed without the fold of the product. */
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

const ADJUSTMENTS: Partial<Record<Remedy, keyof RequestAdjustments>> = {
  'strip-signatures': 'stripSignatures',
  'drop-encrypted-reasoning': 'dropEncryptedReasoning',
  'shrink-images': 'shrinkImages',
  'strip-images': 'stripImages',
  'text-only-results': 'textOnlyResults',
  'drop-long-context-beta': 'dropLongContextBeta',
  'relax-schemas': 'relaxSchemas',
}

function expectedRequestFaults(
  { provider, request, prompt, grant }: ModelCall,
  events: TurnEvent[],
  notes: ReturnType<NoteCheck['expectedOf']>,
): string[] {
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
  const extra = Object.keys(adjustments).filter(
    (field) => !notes.may.has(field) && !owed.has(field as keyof RequestAdjustments),
  )
  const ignored = [...notes.must].filter((kind) => !(kind in adjustments))
  const keptText = way.kept.length > 0 ? textOf(way.kept) : undefined
  const { settings, effort } = request
  const asked = first.settings.modelSettings
  return [
    ...(isDeepStrictEqual(settings, asked) && effort === asked?.effort
      ? []
      : [`its settings are ${JSON.stringify(settings)}, those of the run ${JSON.stringify(asked)}`]),
    ...(expected === `${provider}/${model}` ? [] : [`${model} is called, the log expects ${expected}`]),
    ...missing.map((field) => `its request lacks the adjustment ${field}`),
    ...extra.map((field) => `its request has the adjustment ${field} without a remedy or a note`),
    ...ignored.map((kind) => `its request ignores the note ${kind}`),
    ...(outputCap === way.outputCap ? [] : [`its output limit is ${outputCap}, in the log ${way.outputCap}`]),
    ...(prompt.kept === keptText ? [] : [`it continues "${prompt.kept}", the kept text is "${keptText}"`]),
    ...(prompt.kept !== undefined || prompt.isNudged === way.spent.includes('prompt-again')
      ? []
      : ['the prompt to answer again is missing or unexpected']),
    ...(grant && way.setAside.includes(grant.credentialId) ? [`${grant.credentialId} is used again`] : []),
  ]
}

type Stored = { id: string; body: string }

/** A request has the stored messages and then the accepted inputs; a very recent steer may be missing. */
function historyGaps(
  run: string,
  messages: readonly MessageBody[],
  { stored, known, inputs, narrowed }: ExpectedHistory,
): string[] {
  const bodies = stored.map(({ body }) => JSON.parse(body) as MessageBody)
  const visible = newestSummary(viewOfTurn(bodies, narrowed).filter(isShown))
  const pending = inputs.filter(({ messageId }) => !known.has(messageId)).map(inputBody)
  const cut = alignCut(messages, [...visible, ...pending])
  const expected = cut.expected.map((body) => JSON.stringify(body))
  const sent = cut.sent.map((body) => JSON.stringify(body))
  const least = visible.length - (visible.length + pending.length - cut.expected.length)
  const isSame = (line: string, index: number) =>
    line === expected[index] || isCutOf(cut.sent[index], cut.expected[index])
  const isRight = sent.length >= least && sent.every(isSame)
  if (isRight) return []
  const mismatch = sent.findIndex((line, index) => line !== expected[index])
  const at = mismatch < 0 ? sent.length : mismatch
  const brief = (line: string | undefined) => line?.slice(0, 300)
  return [
    `I9 ${run}: message ${at} of its request is ${brief(sent[at]) ?? 'missing'}, the stored one is ${brief(expected[at]) ?? 'nothing'}`,
  ]
}

type ExpectedHistory = {
  stored: Stored[]
  known: ReadonlySet<string>
  inputs: Input[]
  /** The last summary that is shown in this turn only. */
  narrowed: TurnEvent | undefined
}

/** The stored view, with a summary for a fallback in place of its first messages. */
function viewOfTurn(bodies: MessageBody[], narrowed: TurnEvent | undefined): MessageBody[] {
  if (narrowed?.type !== 'context-compacted' || !narrowed.forTurn) return bodies
  const rest = bodies.filter(({ role }) => role !== 'summary').slice(narrowed.forTurn.hides)
  return [{ role: 'summary', text: narrowed.text, replaces: narrowed.replaces }, ...rest]
}

/** Takes out what a mark at the beginning of a request says was left out, and the mark. */
function alignCut(sent: readonly MessageBody[], expected: MessageBody[]) {
  const [first] = sent
  const count = first?.role === 'summary' ? /\[… (\d+) earlier messages left out/.exec(first.text)?.[1] : undefined
  if (count === undefined) return { sent, expected }
  const rest = expected.filter(({ role }) => role !== 'summary')
  const skipped = rest.slice(0, Number(count) + 1)
  const isMoved = sent[1] !== undefined && !isSameOrCut(sent[1], rest[Number(count)])
  const wasAsked = isMoved && skipped.some((body) => isSameOrCut(sent[1], body))
  return wasAsked
    ? { sent: sent.slice(2), expected: rest.slice(Number(count) + 1) }
    : { sent: sent.slice(1), expected: rest.slice(Number(count)) }
}

const isSameOrCut = (sent: MessageBody | undefined, whole: MessageBody | undefined): boolean =>
  JSON.stringify(sent) === JSON.stringify(whole) || isCutOf(sent, whole)

/** A copy of this message with a visible mark where something was cut. */
function isCutOf(sent: MessageBody | undefined, whole: MessageBody | undefined): boolean {
  const [short, long] = [JSON.stringify(sent), JSON.stringify(whole)]
  if (sent?.role !== whole?.role || short === undefined || long === undefined) return false
  return short.includes('[… ') || short === JSON.stringify(withoutReasoning(whole!))
}

/** Reasoning cannot be cut, so it is left out whole. */
const withoutReasoning = (body: MessageBody): MessageBody =>
  body.role === 'assistant' ? { ...body, content: body.content.filter(({ type }) => type === 'text') } : body

/** A request never exceeds the window that is known of its model, unless system prompt and tools alone do. */
function lengthFaults({ request, prompt }: ModelCall, setup: Setup): string[] {
  const window = knownWindowOf(request.model, setup)
  const tokens = countTokens(request)
  if (window === undefined || tokens <= Math.max(window, fixedTokens(request) + LEAST_ROOM + MARGIN)) return []
  const what = prompt.isSummary ? 'a summary request' : 'a request'
  return [`I33 ${what} of ${tokens} tokens is sent to ${request.model}, whose known window is ${window}`]
}

const MARGIN = 100

const newestSummary = (bodies: MessageBody[]): MessageBody[] => {
  const last = bodies.findLastIndex((body) => body.role === 'summary')
  return last < 0 ? bodies : bodies.slice(last)
}

const isShown = (body: MessageBody): boolean =>
  body.role !== 'approval' && !(body.role === 'assistant' && body.content.length === 0 && body.calls.length === 0)
