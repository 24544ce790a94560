import type { Cooldown } from '../../core/credential.ts'
import type { TurnEvent } from '../../core/event.ts'
import type { RunSettings } from '../../core/run.ts'
import { handleOf } from '../../service/runs/run-bill.ts'
import type { RunLabels } from '../../service/runs/run-labels.ts'
import { safeText } from '../terminal.ts'
import { costText, usageText } from './bill.ts'
import { remedyText } from './chunk.ts'

type AttemptFailed = Extract<TurnEvent, { type: 'attempt-failed' }>
type AttemptContext = { settings: RunSettings | undefined; words: RunLabels }

/** A failed attempt: its target and credential, the failure, the remedy, the cost and the cooldown. */
export function attemptLines(event: AttemptFailed, { settings, words }: AttemptContext): string[] {
  const { failure, remedy, purpose, credentialId, waitMs, usage, cooldown, kept, settingsLeftOut = [] } = event
  const { kind, detail, status, code, requestId } = failure
  const target = handleOf(event.target, settings, purpose)
  const next = event.nextTarget === undefined ? undefined : handleOf(event.nextTarget, settings, purpose)
  const headline = purpose === 'summary' ? 'summary attempt failed' : 'attempt failed'
  const typed = [status ? `HTTP ${status}` : '', code ? safeText(code) : ''].filter(Boolean).join(', ')
  const waited = waitMs ? ` Waited ${(waitMs / 1_000).toFixed(1)} s${retryAfterText(event)}.` : ''
  return [
    `${headline}: ${target}, ${kind}${typed ? ` (${typed})` : ''}`,
    safeText(detail),
    ...(credentialId ? [`credential: ${safeText(words.credential(credentialId))}`] : []),
    `remedy: ${remedy}. ${remedyText(remedy, next)}${limitText(event)}${waited}`,
    ...settingsLeftOut.map((setting) => `setting not sent: ${safeText(setting)}`),
    ...(kept ? ['its partial answer is kept'] : []),
    ...(usage ? [`it used ${usageText(usage)}${costText(usage, words.price(target))}`] : []),
    ...(failure.mayHaveBeenAccepted && !usage ? ['the provider may have charged for it anyway'] : []),
    ...(cooldown ? [cooldownText(cooldown, words)] : []),
    ...(requestId ? [`request id: ${safeText(requestId)}`] : []),
    ...(failure.advice ? [`what to do: ${failure.advice}`] : []),
  ]
}

const retryAfterText = ({ failure }: AttemptFailed): string =>
  failure.retryAfterMs === undefined ? '' : ', as the provider asked'

function limitText({ outputCap, window }: AttemptFailed): string {
  if (window !== undefined) return ` (${window} tokens)`
  return outputCap === undefined ? '' : ` (at most ${outputCap} tokens of output)`
}

function cooldownText({ scope, key, provider, until, reason }: Cooldown, words: RunLabels): string {
  const who = scope === 'endpoint' ? `the endpoint of ${provider}` : safeText(words.credential(key))
  return `${who} is cooling down until ${new Date(until).toISOString()} (${reason})`
}
