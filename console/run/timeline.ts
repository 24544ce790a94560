import { defined } from '../../src/core/defined.ts'
import type { TurnEvent } from '../../src/core/event.ts'

/** A line of the waterfall: a bar from `from` to `to`, or a mark where both are the same. */
export type TimelineRow = {
  key: string
  kind: 'model' | 'tool' | 'wait' | 'mark'
  label: string
  from: number
  /** Absent while it goes on. */
  to?: number
  tone: 'good' | 'bad' | 'warn' | 'plain'
  detail?: string
}

export type WireEvent = { seq: number; at: number; event: TurnEvent }

/** What happened when, derived from the events alone: the same after a restart. */
export function timelineOf(events: readonly WireEvent[], isOver: boolean): TimelineRow[] {
  const rows: TimelineRow[] = []
  const tools = new Map<string, TimelineRow>()
  const names = new Map<string, string>()
  let targets: readonly string[] = []
  /** Where the next request to a model begins. */
  let free = 0
  let last = 0
  const targetName = (index: number) => targets[index] ?? `model ${index + 1}`
  for (const { seq, at, event } of events) {
    const key = String(seq)
    const mark = (label: string, tone: TimelineRow['tone'] = 'plain', detail?: string) =>
      rows.push({ key, kind: 'mark', label, from: at, to: at, tone, ...defined({ detail }) })
    const model = (label: string, tone: TimelineRow['tone'], detail?: string) => {
      rows.push({
        key,
        kind: 'model',
        label,
        from: Math.min(free, at),
        to: at,
        tone,
        ...defined({ detail }),
      })
      free = at
    }
    switch (event.type) {
      case 'input-accepted':
        targets = event.settings.targets
        free = at
        mark('accepted')
        for (const call of event.continues?.calls ?? []) names.set(call.callId, call.tool)
        break
      case 'input-steered':
        mark('a message joined the turn')
        break
      case 'attempt-failed': {
        model(targetName(event.target), 'bad', `${event.failure.kind}: ${event.failure.detail}. ${remedyText(event)}`)
        if (event.retryAt > at) {
          rows.push({ key: `${key}w`, kind: 'wait', label: 'waits', from: at, to: event.retryAt, tone: 'warn' })
          free = event.retryAt
        }
        break
      }
      case 'answer-received':
        for (const call of event.calls) names.set(call.callId, call.tool)
        model(
          targetName(event.target),
          'good',
          `${event.usage.promptTokens} tokens in, ${event.usage.completionTokens} out`,
        )
        break
      case 'answer-cut':
        model(targetName(event.target), 'warn', 'cut off by a cancel')
        break
      case 'context-compacted':
        model('summary', 'plain', `${event.tokensBefore} tokens became ${event.tokensAfter}`)
        break
      case 'summary-extended':
        model('a part of a summary', 'plain')
        break
      case 'tool-started': {
        const row: TimelineRow = {
          key,
          kind: 'tool',
          label: names.get(event.callId) ?? 'tool',
          from: at,
          tone: 'plain',
        }
        tools.set(event.callId, row)
        rows.push(row)
        break
      }
      case 'tool-ended': {
        const { callId, status } = event.outcome
        const row = tools.get(callId)
        const tone = status === 'success' ? 'good' : status === 'error' ? 'bad' : 'warn'
        if (row) Object.assign(row, { to: at, tone, detail: status })
        else mark(`${names.get(callId) ?? 'tool'}: ${status}`, tone)
        free = at
        break
      }
      case 'approval-answered':
        mark(approvalText(event))
        break
      case 'cancel-requested':
        mark(`cancel requested (${event.cause})`, 'warn')
        break
      case 'worker-lost':
        mark(`the process died here; another went on ${spanText(at - last)} later`, 'bad')
        for (const row of tools.values())
          if (row.to === undefined)
            Object.assign(row, { to: at, tone: 'bad', detail: 'interrupted by the death of the process' })
        free = at
        break
      case 'fault-met':
        mark('a fault of Holdfast', 'bad', event.detail)
        break
      case 'turn-ended':
        mark(`ended: ${event.stopReason}`, event.error ? 'bad' : 'plain', event.error?.message)
        break
    }
    last = at
  }
  if (isOver) for (const row of rows) row.to ??= last
  return rows
}

function remedyText({ remedy, nextTarget, waitMs }: Extract<TurnEvent, { type: 'attempt-failed' }>): string {
  if (remedy === 'give-up') return 'No remedy was left.'
  if (nextTarget !== undefined) return 'The next model of the chain was asked.'
  if (waitMs === undefined) return `Remedy: ${remedy}.`
  if (remedy === 'rebuild-transport') return `Asked again over a new connection, after ${spanText(waitMs)}.`
  return remedy === 'wait' ? `Asked again after ${spanText(waitMs)}.` : `Remedy: ${remedy}, after ${spanText(waitMs)}.`
}

export function approvalText({ decisions }: Extract<TurnEvent, { type: 'approval-answered' }>): string {
  const approved = decisions.filter(({ verdict }) => verdict === 'approve').length
  return approved === decisions.length
    ? 'approved'
    : approved === 0
      ? 'denied'
      : `${approved} of ${decisions.length} approved`
}

export const spanText = (ms: number): string =>
  ms < 1_000 ? `${ms} ms` : ms < 60_000 ? `${(ms / 1_000).toFixed(1)} s` : `${Math.round(ms / 60_000)} min`
