import type { Cooldown } from '../../core/credential.ts'
import type { TurnEvent } from '../../core/event.ts'
import type { RunSettings } from '../../core/run.ts'
import type { RunWords } from '../../service/runs/run-words.ts'
import { safeText } from '../terminal.ts'
import { costText, handleOf, usageText } from './bill.ts'
import { remedyText } from './chunk.ts'

type AttemptFailed = Extract<TurnEvent, { type: 'attempt-failed' }>
type Scene = { settings: RunSettings | undefined; words: RunWords }

/** A failed attempt: who was asked with what, what came back, what was done about it, and what it leaves behind. */
export function attemptLines(event: AttemptFailed, { settings, words }: Scene): string[] {
  const { failure, remedy, purpose, credentialId, waitMs, usage, cooldown, kept } = event
  const { kind, detail, status, code, requestId } = failure
  const target = handleOf(event.target, settings, purpose)
  const next = event.nextTarget === undefined ? undefined : handleOf(event.nextTarget, settings, purpose)
  const asked = purpose === 'summary' ? 'attempt at a summary failed' : 'attempt failed'
  const typed = [status ? `HTTP ${status}` : '', code ? safeText(code) : ''].filter(Boolean).join(', ')
  const waited = waitMs ? ` Waited ${(waitMs / 1_000).toFixed(1)} s${reasonOf(event)}.` : ''
  return [
    `${asked}: ${target}, ${kind}${typed ? ` (${typed})` : ''}`,
    safeText(detail),
    ...(credentialId ? [`asked with ${safeText(words.credential(credentialId))}`] : []),
    `remedy: ${remedy}. ${remedyText(remedy, next)}${particularsOf(event)}${waited}`,
    ...(kept ? ['what it said so far is kept'] : []),
    ...(usage ? [`it used ${usageText(usage)}${costText(usage, words.price(target))}`] : []),
    ...(failure.mayHaveBeenAccepted && !usage ? ['the provider may have charged for it all the same'] : []),
    ...(cooldown ? [cooldownText(cooldown, words)] : []),
    ...(requestId ? [`its name for this request: ${safeText(requestId)}`] : []),
    ...(failure.advice ? [`what to do: ${failure.advice}`] : []),
  ]
}

const reasonOf = ({ failure }: AttemptFailed): string =>
  failure.retryAfterMs === undefined ? '' : ', as the provider asked'

function particularsOf({ outputCap, window }: AttemptFailed): string {
  if (window !== undefined) return ` (${window} tokens)`
  return outputCap === undefined ? '' : ` (at most ${outputCap} tokens of output)`
}

function cooldownText({ scope, key, provider, until, reason }: Cooldown, words: RunWords): string {
  const who = scope === 'endpoint' ? `the address of ${provider}` : safeText(words.credential(key))
  return `${who} rests until ${new Date(until).toISOString()} (${reason})`
}
