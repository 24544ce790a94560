import type { LoggedEvent, TurnEvent } from '../../core/event.ts'
import { type Input, textOf } from '../../core/message.ts'
import { NOTE_KINDS } from '../../core/model-note.ts'
import type { NewStep } from '../../core/projection.ts'
import { phaseOf, type Run, type RunSettings } from '../../core/run.ts'
import type { ModelNotes, NoteKind } from '../../core/target.ts'
import type { ToolOutcome } from '../../core/tool-call.ts'
import { billOf, handleOf, settingsIn } from '../../service/runs/run-bill.ts'
import type { RunLabels } from '../../service/runs/run-labels.ts'
import type { RunDetails } from '../../service/runs/runs.ts'
import { type Look, safeText, shortened } from '../terminal.ts'
import { attemptLines } from './attempt.ts'
import { costText, dollars, usageText } from './bill.ts'
import { decisionText } from './message.ts'
import { NOTE_TEXT } from './model-note.ts'
import { count } from './run.ts'
import { runErrorLines } from './run-error.ts'

/** Everything that is known about a run: its state, timeline, steps and cost. */
export function renderStory(story: RunDetails, words: RunLabels, look: Look): string[] {
  const { run, events, steps } = story
  const { bold, dim } = look.paint
  const start = events[0]?.at ?? run.createdAt
  const scene: StoryContext = { names: namesIn(events), settings: settingsIn(events), words, width: look.width, look }
  return [
    ...headLines(run, look),
    '',
    bold('Timeline'),
    ...events.map(({ at, event }) => {
      const [what, ...details] = describe(event, scene)
      const more = details.map((line) => `\n${' '.repeat(13)}${dim(line)}`).join('')
      return `  ${dim(offsetText(at - start).padStart(9))}  ${what}${more}`
    }),
    '',
    bold(count(steps.length, 'step')),
    ...steps.map((step, index) => `  ${index + 1}. ${stepText(step)}`),
    ...billLines(story, words, look),
  ]
}

/** Number of attempts, the model that answered last, and the total cost. */
function billLines(story: RunDetails, words: RunLabels, { paint }: Look): string[] {
  const { events } = story
  const failures = events.filter(({ event }) => event.type === 'attempt-failed').length
  const answers = events.flatMap(({ event }) => (event.type === 'answer-received' ? [event] : []))
  if (failures + answers.length === 0) return []
  const { charges, usage, cost, hasUnknown } = billOf(story, words)
  const last = answers.at(-1)
  const who = last ? `answered by ${handleOf(last.target, settingsIn(events))} in the end` : 'no model answered'
  const lost = charges.filter(({ isFailed }) => isFailed)
  const failed = lost.reduce((sum, { usage: one }) => sum + one.promptTokens + one.completionTokens, 0)
  const price =
    cost > 0 || !hasUnknown
      ? `, ${dollars(cost)}${hasUnknown ? ' plus usage without a known price' : ''}`
      : ', price unknown'
  return [
    '',
    paint.bold(count(failures + answers.length, 'attempt')),
    `  ${failures} failed, ${answers.length} answered; ${who}`,
    `  ${usageText(usage)}${price}${failed > 0 ? `; ${failed} of these tokens went into failed attempts` : ''}`,
  ]
}

function headLines(run: Run, { paint }: Look): string[] {
  const reason = run.stopReason ? ` (${run.stopReason})` : ''
  const seconds = ((run.completedAt ?? 0) - run.createdAt) / 1_000
  const took = run.completedAt === undefined ? '' : `, took ${seconds.toFixed(1)} s`
  const [error, ...advice] = run.error ? runErrorLines(run.error) : []
  return [
    `${paint.bold(run.id)}  ${phaseOf(run)}${reason}${run.silent ? ', silent: nothing was sent to a chat' : ''}`,
    ...(error ? [`  error         ${paint.red(error)}`] : []),
    ...advice.map((line) => `                ${line}`),
    `  agent         ${run.agentId}`,
    `  conversation  ${run.conversationId}`,
    `  began         ${new Date(run.createdAt).toISOString()}${took}`,
    ...(run.continues ? [`  continues     ${run.continues}`] : []),
  ]
}

type StoryContext = {
  names: Record<string, string>
  settings: RunSettings | undefined
  words: RunLabels
  width: number
  look: Look
}

/** The first line is the headline of the event, the others are details. */
function describe(event: TurnEvent, scene: StoryContext): string[] {
  const { names, settings, words, width, look } = scene
  const { red, green, yellow } = look.paint
  const tool = (callId: string) => names[callId] ?? callId
  const target = (index: number) => handleOf(index, settings)
  const quote = (text: string) => `"${shortened(oneLine(text), Math.max(40, width - 30))}"`
  switch (event.type) {
    case 'input-accepted': {
      const decided = event.continues?.decisions.map((one) => `${tool(one.callId)} ${decisionText(one)}`) ?? []
      const carries = event.continues ? [`continues ${event.continues.runId}: ${decided.join(', ')}`] : []
      const chain = `models: ${event.settings.targets.join(' → ')}; at most ${count(event.settings.maxSteps, 'step')}`
      return [`accepted ${event.inputs.map(inputText).map(quote).join(', ') || 'no new input'}`, ...carries, chain]
    }
    case 'input-steered':
      return [`steered with ${event.inputs.map(inputText).map(quote).join(', ')}`]
    case 'attempt-failed': {
      const [what, ...details] = attemptLines(event, { settings, words })
      return [yellow(what!), ...details, ...rememberedTexts(event)]
    }
    case 'context-compacted': {
      const { replaces, tokensBefore, tokensAfter, usage } = event
      const range = `messages ${replaces.from} to ${replaces.to}`
      if (event.text === '') return [`reset the context: ${range} stay readable, but the model no longer sees them`]
      const by = handleOf(event.target, settings, 'summary')
      const scope = event.forTurn ? ', for this turn only' : ''
      return [
        `summarized ${range}${scope}: about ${tokensBefore} tokens before, ${tokensAfter} after`,
        `by ${by}: ${usageText(usage)}${costText(usage, words.price(by))}`,
        quote(event.text),
      ]
    }
    case 'summary-extended': {
      const by = handleOf(event.target, settings, 'summary')
      return [
        `summarized messages up to ${event.through}; the rest follows`,
        `by ${by}: ${usageText(event.usage)}${costText(event.usage, words.price(by))}`,
      ]
    }
    case 'answer-received': {
      const { usage, credentialId, notes } = event
      const by = target(event.target)
      const text = textOf(event.content)
      return [
        `answered by ${by}: ${usageText(usage)}${costText(usage, words.price(by))}`,
        ...(credentialId ? [`credential: ${safeText(words.credential(credentialId))}`] : []),
        ...(event.clearsCooldown ? ['its cooldown is over'] : []),
        ...(event.settingsLeftOut ?? []).map((setting) => `setting not sent: ${safeText(setting)}`),
        ...(event.wasCut ? ['parts of the conversation were left out of the request: it did not fit the window'] : []),
        ...(event.isRest ? ['continues the partial answer; both are one message'] : []),
        ...(notes?.window ? [`learned: its window is ${notes.window} tokens`] : []),
        ...learnedTexts(notes),
        ...rememberedTexts(event),
        ...(text ? [quote(text)] : []),
        ...event.calls.map(
          (call) =>
            `calls ${safeText(call.tool)} ${shortened(safeText(JSON.stringify(call.input)), width)}${call.needsApproval ? ' (needs approval)' : ''}`,
        ),
      ]
    }
    case 'answer-cut':
      return [
        yellow(`answer of ${target(event.target)} cut off; the partial answer is kept`),
        quote(textOf(event.content)),
      ]
    case 'tool-started':
      return [`tool started: ${tool(event.callId)} (by worker ${event.fence} of this run)`]
    case 'tool-ended': {
      const { callId, status, output } = event.outcome
      const color = status === 'success' ? green : red
      return [`tool ended: ${tool(callId)}, ${color(OUTCOME_TEXT[status])}`, quote(output)]
    }
    case 'approval-answered':
      return [
        `approval answered: ${event.decisions.map((one) => `${tool(one.callId)} ${decisionText(one)}`).join(', ')}`,
        `continued by ${event.continuedBy}`,
      ]
    case 'cancel-requested':
      return [yellow(`cancel requested ${CANCEL_TEXT[event.cause]}`)]
    case 'worker-lost':
      return [red(`worker ${event.fence} died during this run; another one took over`)]
    case 'fault-met':
      return [red('internal error in Holdfast'), safeText(event.detail)]
    case 'turn-ended': {
      const { stopReason, error } = event
      if (!error) return [`ended: ${stopReason}`]
      return [red(`ended: ${stopReason}`), `${error.errorType}: ${error.message}`]
    }
  }
}

const OUTCOME_TEXT: Record<ToolOutcome['status'], string> = {
  success: 'success',
  error: 'error',
  denied: 'denied, it did not run',
  unknown: 'unknown whether it took effect',
}

const CANCEL_TEXT: Record<Extract<TurnEvent, { type: 'cancel-requested' }>['cause'], string> = {
  person: 'by a person',
  interrupt: 'by a newer message',
  expiry: 'because the approval expired',
  'time-limit': 'because the time limit was reached',
}

function namesIn(events: readonly LoggedEvent[]): Record<string, string> {
  const calls = events.flatMap(({ event }) => {
    if (event.type === 'answer-received') return event.calls
    return event.type === 'input-accepted' ? (event.continues?.calls ?? []) : []
  })
  return Object.fromEntries(calls.map((call) => [call.callId, safeText(call.tool)]))
}

const stepText = ({ status, target, usage }: NewStep): string => `${target}  ${usageText(usage)}  ${status}`

const inputText = ({ content }: Input): string => textOf(content) || '(an image)'

const oneLine = (text: string): string => safeText(text).replaceAll(/\s+/g, ' ').trim()

const offsetText = (ms: number): string => `+${(ms / 1_000).toFixed(3)}s`

/** `holdfast models notes` has their ends. */
const learnedTexts = (notes: ModelNotes = {}): string[] =>
  NOTE_KINDS.flatMap((kind) => (notes[kind] === true ? [`learned: ${NOTE_TEXT[kind]}, from now on`] : []))

const rememberedTexts = ({ notesApplied = [] }: { notesApplied?: NoteKind[] }): string[] =>
  notesApplied.map((kind) => `remembered from an earlier failure: ${NOTE_TEXT[kind]}`)
