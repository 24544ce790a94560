import { summaryTargets } from '../../../src/core/compaction.ts'
import type { CredentialId } from '../../../src/core/credential.ts'
import { defined } from '../../../src/core/defined.ts'
import type { LoggedEvent, TurnEvent } from '../../../src/core/event.ts'
import { nextTargetAfter } from '../../../src/core/next-target.ts'
import { LADDER, type Remedy, type Rung, WAIT_BUDGET_MS } from '../../../src/core/recovery.ts'
import { REMEMBERED } from './note-check.ts'
import type { Granted } from './pool-check.ts'

type AttemptFailed = Extract<TurnEvent, { type: 'attempt-failed' }>
type AnswerReceived = Extract<TurnEvent, { type: 'answer-received' }>
type Tried = { target: number; spent: Remedy[]; credentialId?: CredentialId }
type Known = (event: AttemptFailed) => Granted | undefined

/**
 * Checks failed attempts from the raw events, without the fold of the product, whose bugs would hide here, too. The
 * remedy of each failure must be the first rung left of its ladder; `known` gives the state of its credential pool.
 */
export function attemptFaults(events: readonly LoggedEvent[], known: Known): string[] {
  const first = events[0]?.event
  if (first?.type !== 'input-accepted') return []
  const { settings } = first
  const patienceMs = settings.patienceMs ?? WAIT_BUDGET_MS
  const chains = { answer: settings.targets, summary: summaryTargets(settings) }
  const faults: string[] = []
  const fresh = (target: number): Tried => ({ target, spent: [] })
  const tried = { answer: fresh(0), summary: fresh(0) }
  /** The wait budget covers the whole step, its summaries included. */
  let waitedMs = 0
  const windows = new Map<string, number>()
  /** How far the summary in progress has come. */
  let through = Number.NEGATIVE_INFINITY
  for (const { seq, event } of events) {
    if (event.type === 'context-compacted') {
      if (event.target !== tried.summary.target && event.text !== '')
        faults.push(`I16 event ${seq}: target ${event.target} wrote a summary, ${tried.summary.target} was expected`)
      tried.summary = fresh(0)
      tried.answer.spent = tried.answer.spent.filter((one) => one !== 'compact')
    }
    if (event.type === 'summary-extended') {
      if (event.target !== tried.summary.target)
        faults.push(`I16 event ${seq}: target ${event.target} wrote a part, ${tried.summary.target} was expected`)
      tried.summary.spent = []
      if (event.through <= through)
        faults.push(`I33 event ${seq}: the summary covers messages to ${event.through}, before it was ${through}`)
      through = event.through
    }
    if (event.type === 'context-compacted') through = Number.NEGATIVE_INFINITY
    if (event.type === 'answer-received') {
      if (event.target !== tried.answer.target)
        faults.push(`I16 event ${seq}: target ${event.target} answered, ${tried.answer.target} was expected`)
      // A partial text becomes the answer if the next failure leaves no remedy.
      if (isRemainder(event)) continue
      const { credentialId } = event
      tried.answer = { ...fresh(tried.answer.target), ...defined({ credentialId: credentialId || undefined }) }
      tried.summary = fresh(0)
      waitedMs = 0
    }
    if (event.type !== 'attempt-failed') continue
    const { purpose = 'answer', remedy, failure } = event
    const so = tried[purpose]
    if (event.target !== so.target)
      faults.push(`I16 event ${seq}: target ${event.target} failed, ${so.target} was expected`)
    const { credentialId } = event
    // A key that replaced another has not been tried yet: it has its own guards.
    if (credentialId && so.credentialId && credentialId !== so.credentialId) so.spent = withoutGuards(so.spent)
    if (credentialId) so.credentialId = credentialId
    const isBackground = settings.patienceMs !== undefined
    const patienceLeftMs = patienceMs - waitedMs
    const left = { ...so, patienceLeftMs, isBackground, chain: chains[purpose], granted: known(event) }
    const allowed = allowedRemedies(event, left)
    if (!allowed.includes(remedy))
      faults.push(
        `I16 event ${seq}: ${failure.kind} got the remedy ${remedy}, the ladder expects ${allowed.join(' or ')}`,
      )
    if ((event.waitMs ?? 0) > left.patienceLeftMs)
      faults.push(`I16 event ${seq}: waits ${event.waitMs} ms, its wait budget is ${left.patienceLeftMs}`)
    const handle = chains[purpose][event.target] ?? ''
    if (event.window !== undefined && event.window >= (windows.get(handle) ?? Number.POSITIVE_INFINITY))
      faults.push(`I33 event ${seq}: the window ${event.window} of ${handle} is not smaller than before`)
    if (event.window !== undefined) windows.set(handle, event.window)
    if (remedy === 'give-up') continue
    waitedMs += event.waitMs ?? 0
    if (remedy === 'next-target') tried[purpose] = fresh(event.nextTarget ?? so.target + 1)
    else if (remedy === 'next-credential') {
      so.spent = withoutGuards(so.spent)
      delete so.credentialId
    } else so.spent.push(remedy)
    if (remedy === 'compact') tried.summary = fresh(0)
  }
  return faults
}

export const isRemainder = ({ isRest, finish, content, usage }: AnswerReceived): boolean =>
  isRest === true && finish === 'length' && content.length === 0 && usage.promptTokens === 0

const OF_A_KEY: readonly Remedy[] = ['retry-credential', 'refresh-credential', 'refresh-entitlement', 'next-credential']

const withoutGuards = (spent: readonly Remedy[]): Remedy[] => spent.filter((one) => !OF_A_KEY.includes(one))

/** Images, sizes and free context are not in the log: these rungs may be used or skipped. */
const NOT_IN_THE_LOG: readonly Remedy[] = ['compact', 'adopt-window', 'rebuild-transport', 'raise-output-cap']

type Left = Tried & {
  patienceLeftMs: number
  isBackground: boolean
  chain: readonly string[]
  granted: Granted | undefined
}

function allowedRemedies(event: AttemptFailed, left: Left) {
  const { target, spent, patienceLeftMs, isBackground, chain, granted } = left
  const { failure } = event
  const count = (list: readonly Rung[], rung: Rung) => list.filter((one) => one === rung).length
  const ladder = LADDER[failure.kind]
  const next = nextTargetAfter(target, failure.kind, chain.map(identityOf))
  const allowed: (Remedy | 'give-up')[] = []
  for (const [index, rung] of ladder.entries()) {
    if (rung === 'keep-waiting' || rung === 'keep-waiting-in-background') {
      if (rung === 'keep-waiting-in-background' && !isBackground) continue
      if (patienceLeftMs < 500 || (failure.retryAfterMs ?? 0) > patienceLeftMs) continue
      return [...allowed, 'wait' as const]
    }
    // A window is lowered as often as it gets smaller.
    if (rung !== 'adopt-window' && count(spent, rung) > count(ladder.slice(0, index), rung)) continue
    if (rung === 'leave-out' && event.purpose !== 'summary') continue
    if (rung === 'next-target' && next === undefined) continue
    const noted = REMEMBERED[rung]
    if (noted && event.notesApplied?.includes(noted)) continue
    if (rung === 'cap-output' && !failure.availableOutput) continue
    if (rung === 'refresh-entitlement') continue
    if (rung === 'refresh-credential' && granted && !granted.canRefresh) continue
    if (rung === 'retry-credential' && failure.retryAfterMs !== undefined) continue
    const needsSibling = rung === 'retry-credential' || rung === 'next-credential'
    if (needsSibling && granted?.siblings === 0) continue
    const shortest = failure.retryAfterMs ?? Math.min(500 * 2 ** count(spent, 'wait'), 60_000)
    if (rung === 'wait' && shortest > patienceLeftMs) continue
    allowed.push(rung)
    const isOpen = NOT_IN_THE_LOG.includes(rung) || (needsSibling && granted?.siblings === undefined)
    const mayRefresh = rung === 'refresh-credential' && granted === undefined
    // Backoff has a jitter of up to one half: close to the end of the budget both outcomes are right.
    const isSure = rung !== 'wait' || shortest * 1.5 <= patienceLeftMs
    if (isSure && !isOpen && !mayRefresh) return allowed
  }
  return [...allowed, 'give-up' as const]
}

function identityOf(handle: string) {
  const [provider = ''] = handle.split('/')
  return { account: provider, endpoint: provider, deployment: handle }
}
