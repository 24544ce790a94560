import type { Cooldown } from '../core/credential.ts'
import type { LoggedEvent, TurnEvent } from '../core/event.ts'
import { type Input, textOf } from '../core/message.ts'
import type { NewStep } from '../core/projection.ts'
import { phaseOf, type Run } from '../core/run.ts'
import type { ToolOutcome } from '../core/tool-call.ts'
import type { RunStory } from '../service/show-run.ts'
import { REMEDY_WORDS } from './render-chunk.ts'
import { decisionText } from './render-message.ts'
import { count } from './render-run.ts'
import { type Look, safeText, shortened } from './terminal.ts'

/** Everything that is known of a run, as lines: what it is, what happened when, what it cost. */
export function renderStory({ run, events, steps }: RunStory, look: Look): string[] {
  const { bold, dim } = look.paint
  const start = events[0]?.at ?? run.createdAt
  const names = namesIn(events)
  const targets = targetsIn(events)
  return [
    ...headLines(run, look),
    '',
    bold('Timeline'),
    ...events.map(({ at, event }) => {
      const [what, ...details] = describe(event, { names, targets, width: look.width, look })
      const more = details.map((line) => `\n${' '.repeat(13)}${dim(line)}`).join('')
      return `  ${dim(offsetText(at - start).padStart(9))}  ${what}${more}`
    }),
    '',
    bold(count(steps.length, 'step')),
    ...steps.map((step, index) => `  ${index + 1}. ${stepText(step)}`),
  ]
}

function headLines(run: Run, { paint }: Look): string[] {
  const reason = run.stopReason ? ` (${run.stopReason})` : ''
  const seconds = ((run.completedAt ?? 0) - run.createdAt) / 1_000
  const took = run.completedAt === undefined ? '' : `, took ${seconds.toFixed(1)} s`
  const error = run.error && `${run.error.message}${run.error.detail ? ` (${safeText(run.error.detail)})` : ''}`
  return [
    `${paint.bold(run.id)}  ${phaseOf(run)}${reason}`,
    ...(error ? [`  error         ${paint.red(error)}`] : []),
    `  agent         ${run.agentId}`,
    `  conversation  ${run.conversationId}`,
    `  began         ${new Date(run.createdAt).toISOString()}${took}`,
    ...(run.continues ? [`  continues     ${run.continues}`] : []),
  ]
}

type Scene = { names: Record<string, string>; targets: string[]; width: number; look: Look }

const cooldownText = ({ key, until, reason }: Cooldown): string =>
  `${key} rests until ${new Date(until).toISOString()} (${reason})`

/** What happened, then details. */
function describe(event: TurnEvent, { names, targets, width, look }: Scene): string[] {
  const { red, green, yellow } = look.paint
  const tool = (callId: string) => names[callId] ?? callId
  const target = (index: number) => targets[index] ?? `target ${index}`
  const quote = (text: string) => `"${shortened(oneLine(text), Math.max(40, width - 30))}"`
  switch (event.type) {
    case 'input-accepted': {
      const decided = event.continues?.decisions.map((one) => `${tool(one.callId)} ${decisionText(one)}`) ?? []
      const carries = event.continues ? [`carries on from ${event.continues.runId}: ${decided.join(', ')}`] : []
      const chain = `models: ${event.settings.targets.join(' → ')}; at most ${count(event.settings.maxSteps, 'step')}`
      return [`accepted ${event.inputs.map(inputText).map(quote).join(', ') || 'no new input'}`, ...carries, chain]
    }
    case 'input-steered':
      return [`steered with ${event.inputs.map(inputText).map(quote).join(', ')}`]
    case 'attempt-failed': {
      const { kind, detail, status } = event.failure
      const remedy = REMEDY_WORDS[event.remedy] ?? event.remedy
      return [
        yellow(`attempt failed: ${target(event.target)}, ${kind}${status ? ` (HTTP ${status})` : ''}`),
        safeText(detail),
        `remedy: ${event.remedy}. ${remedy}${event.waitMs ? ` (${(event.waitMs / 1_000).toFixed(1)} s)` : ''}`,
        ...(event.nextTarget === undefined ? [] : [`now: ${target(event.nextTarget)}`]),
        ...(event.credentialId ? [`asked with ${event.credentialId}`] : []),
        ...(event.cooldown ? [cooldownText(event.cooldown)] : []),
      ]
    }
    case 'context-compacted': {
      const { replaces, tokensBefore, tokensAfter } = event
      const range = `messages ${replaces.from} to ${replaces.to}`
      return [
        `summarised ${range}: about ${tokensBefore} tokens before, ${tokensAfter} after`,
        ...(event.text ? [quote(event.text)] : []),
      ]
    }
    case 'answer-received': {
      const { promptTokens, completionTokens } = event.usage
      const text = textOf(event.content)
      return [
        `answered by ${target(event.target)}: ${promptTokens} + ${completionTokens} tokens`,
        ...(text ? [quote(text)] : []),
        ...event.calls.map(
          (call) =>
            `calls ${safeText(call.tool)} ${shortened(safeText(JSON.stringify(call.input)), width)}${call.needsApproval ? ' (needs approval)' : ''}`,
        ),
      ]
    }
    case 'answer-cut':
      return [yellow(`answer of ${target(event.target)} cut off; what was said is kept`), quote(textOf(event.content))]
    case 'tool-started':
      return [`tool started: ${tool(event.callId)} (by worker ${event.fence} of this run)`]
    case 'tool-ended': {
      const { callId, status, output } = event.outcome
      const colour = status === 'success' ? green : red
      return [`tool ended: ${tool(callId)}, ${colour(OUTCOME_WORDS[status])}`, quote(output)]
    }
    case 'approval-answered':
      return [
        `approval answered: ${event.decisions.map((one) => `${tool(one.callId)} ${decisionText(one)}`).join(', ')}`,
        `carried out by ${event.continuedBy}`,
      ]
    case 'cancel-requested':
      return [yellow(`cancel requested ${CANCEL_WORDS[event.cause]}`)]
    case 'worker-lost':
      return [red(`worker ${event.fence} died in the middle of this run; another one took over`)]
    case 'fault-met':
      return [red('Holdfast itself failed'), safeText(event.detail)]
    case 'turn-ended': {
      const { stopReason, error } = event
      if (!error) return [`ended: ${stopReason}`]
      return [red(`ended: ${stopReason}`), `${error.errorType}: ${error.message}`]
    }
  }
}

const OUTCOME_WORDS: Record<ToolOutcome['status'], string> = {
  success: 'success',
  error: 'error',
  denied: 'denied, it did not run',
  unknown: 'unknown whether it took effect',
}

const CANCEL_WORDS: Record<Extract<TurnEvent, { type: 'cancel-requested' }>['cause'], string> = {
  person: 'by a person',
  interrupt: 'by a newer message',
  expiry: 'because nobody answered the approval in time',
  'time-limit': 'because the time limit was reached',
}

function namesIn(events: readonly LoggedEvent[]): Record<string, string> {
  const calls = events.flatMap(({ event }) => {
    if (event.type === 'answer-received') return event.calls
    return event.type === 'input-accepted' ? (event.continues?.calls ?? []) : []
  })
  return Object.fromEntries(calls.map((call) => [call.callId, safeText(call.tool)]))
}

function targetsIn(events: readonly LoggedEvent[]): string[] {
  const first = events[0]?.event
  return first?.type === 'input-accepted' ? first.settings.targets : []
}

const stepText = ({ status, target, usage }: NewStep): string =>
  `${target}  ${usage.promptTokens} + ${usage.completionTokens} tokens  ${status}`

const inputText = ({ content }: Input): string => textOf(content) || '(an image)'

const oneLine = (text: string): string => safeText(text).replaceAll(/\s+/g, ' ').trim()

const offsetText = (ms: number): string => `+${(ms / 1_000).toFixed(3)}s`
