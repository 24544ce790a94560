import { defined } from '../core/defined.ts'
import type { LoggedEvent, Purpose, TurnEvent, Usage } from '../core/event.ts'
import type { Run, RunSettings } from '../core/run.ts'
import { parseTarget } from '../core/target.ts'
import type { ToolCall } from '../core/tool-call.ts'
import { parseTraceparent, runTraceContext, spanIdOf } from '../core/traceparent.ts'
import { targetsOf } from '../core/turn.ts'
import type { Digest } from '../ports/digest.ts'
import { ATTRIBUTE, MARK, OPERATION, providerName, type Wait } from './conventions.ts'
import type { Attributes, Span } from './span.ts'

export type RunStory = {
  run: Run
  agentName?: string
  /** All events, or of a run that waited those of one part. */
  events: readonly LoggedEvent[]
  /** `wait-ended`: the first part was exported when the run began to wait; no answer came, and this is the rest. */
  part: 'run' | 'wait-ended'
  /** The wait of the run that this one continues. */
  approval?: { asker: Run; askedAt: number; answered: LoggedEvent }
}

type SpanOptions = { digest: Digest; hasContent: boolean }

/** Text of messages is cut here: a collector refuses requests of more than a few megabytes. */
const CONTENT_CHARACTERS = 8_192

type Ended = Extract<TurnEvent, { type: 'turn-ended' }>

/** The spans of a run from its committed events: the run, its model requests, its tools and its waits. */
export function runSpans({ run, agentName, events, part, approval }: RunStory, options: SpanOptions): Span[] {
  const first = events[0]?.event
  if (first?.type !== 'input-accepted') return []
  const { digest } = options
  const { settings } = first
  const parent = parseTraceparent(settings.traceparent)
  const context = runTraceContext({ id: run.id, ...defined({ traceparent: settings.traceparent }) }, digest)
  if (!context.isSampled) return []
  const { traceId, spanId: runSpanId } = context
  const spans: Span[] = []
  const marks: Span['marks'][number][] = []
  const calls = new Map<string, ToolCall>((first.continues?.calls ?? []).map((call) => [call.callId, call]))
  const started = new Map<string, number>()
  const total = { promptTokens: 0, completionTokens: 0 }
  const own = ownAttributes(run, agentName)
  const claimedAt = Math.max(run.startedAt ?? run.createdAt, run.createdAt)
  /** When the next attempt can have started: events tell the ends only. */
  let since = claimedAt
  let ended: (Ended & { at: number }) | undefined

  const child = (key: string, span: Pick<Span, 'name' | 'startAt' | 'endAt' | 'attributes'> & Partial<Span>): Span => ({
    traceId,
    spanId: spanIdOf(`${run.id}/${key}`, digest),
    parentSpanId: runSpanId,
    kind: 'internal',
    marks: [],
    ...span,
    startAt: Math.min(span.startAt, span.endAt),
  })
  const wait = (key: string, what: Wait, startAt: number, endAt: number) =>
    child(key, { name: `wait ${what}`, startAt, endAt, attributes: { ...own, [ATTRIBUTE.wait]: what } })

  function attempt({ seq, at, event }: LoggedEvent, { purpose = 'answer', ...of }: AttemptFacts): void {
    const handle = targetsOf(settings, purpose)[of.target] ?? ''
    const target = modelAttributes(handle)
    spans.push(
      child(`${seq}`, {
        name: `${OPERATION.attempt} ${target[ATTRIBUTE.requestModel] ?? ''}`.trim(),
        kind: 'client',
        startAt: since,
        endAt: at,
        attributes: {
          [ATTRIBUTE.operation]: OPERATION.attempt,
          ...own,
          ...target,
          [ATTRIBUTE.purpose]: purpose,
          ...usageAttributes(of.usage),
          ...of.attributes,
          ...(options.hasContent ? contentOfAnswer(event) : undefined),
        },
        ...defined({ error: of.error }),
      }),
    )
    if (of.usage) {
      total.promptTokens += of.usage.promptTokens
      total.completionTokens += of.usage.completionTokens
    }
    since = at
  }

  function read(logged: LoggedEvent): void {
    const { seq, at, event } = logged
    const mark = (name: string, attributes: Attributes = {}) => void marks.push({ at, name, attributes })
    switch (event.type) {
      case 'input-accepted':
        return
      case 'input-steered':
        mark(MARK.steered)
        return
      case 'attempt-failed': {
        const { failure, remedy, purpose = 'answer', nextTarget, retryAt } = event
        attempt(logged, {
          target: event.target,
          purpose,
          error: failure.kind,
          attributes: { [ATTRIBUTE.errorType]: failure.kind, [ATTRIBUTE.httpStatus]: failure.status },
          ...defined({ usage: event.usage }),
        })
        const next = nextTarget === undefined ? undefined : targetsOf(settings, purpose)[nextTarget]
        mark(next ? MARK.failover : MARK.recovery, {
          [ATTRIBUTE.errorType]: failure.kind,
          [ATTRIBUTE.remedy]: remedy,
          [ATTRIBUTE.nextModel]: next,
        })
        if (retryAt > at && remedy !== 'give-up') {
          spans.push(wait(`${seq}/wait`, 'retry', at, retryAt))
          since = retryAt
        }
        return
      }
      case 'answer-received': {
        const { target, usage, finish } = event
        for (const call of event.calls) calls.set(call.callId, call)
        attempt(logged, { target, usage, attributes: { [ATTRIBUTE.finishReasons]: [finish] } })
        return
      }
      case 'answer-cut':
        attempt(logged, {
          target: event.target,
          error: 'cancelled',
          attributes: { [ATTRIBUTE.errorType]: 'cancelled' },
        })
        return
      case 'context-compacted':
      case 'summary-extended':
        // A reset asks no model.
        if (event.usage.promptTokens + event.usage.completionTokens === 0) return
        attempt(logged, { target: event.target, purpose: 'summary', usage: event.usage })
        return
      case 'tool-started':
        started.set(event.callId, at)
        return
      case 'tool-ended': {
        spans.push(toolSpan(logged, event))
        since = at
        return
      }
      case 'cancel-requested':
        mark(MARK.cancelled, { 'holdfast.cancel.cause': event.cause })
        return
      case 'worker-lost':
        since = at
        mark(MARK.workerLost)
        return
      case 'fault-met':
        mark(MARK.fault)
        return
      case 'approval-answered':
        return
      case 'turn-ended': {
        ended = { ...event, at }
        return
      }
    }
  }

  function toolSpan({ seq, at }: LoggedEvent, { outcome }: Extract<TurnEvent, { type: 'tool-ended' }>): Span {
    const { callId, status } = outcome
    const call = calls.get(callId)
    const failed = status === 'success' ? undefined : status
    const content = options.hasContent && {
      [ATTRIBUTE.toolArguments]: call && cut(JSON.stringify(call.input)),
      [ATTRIBUTE.toolResult]: cut(outcome.output),
    }
    return child(`${seq}`, {
      name: `${OPERATION.tool} ${call?.tool ?? 'unknown'}`,
      startAt: started.get(callId) ?? at,
      endAt: at,
      attributes: {
        [ATTRIBUTE.operation]: OPERATION.tool,
        ...own,
        [ATTRIBUTE.toolName]: call?.tool,
        [ATTRIBUTE.toolCallId]: callId,
        [ATTRIBUTE.toolType]: 'function',
        [ATTRIBUTE.toolStatus]: status,
        [ATTRIBUTE.errorType]: failed,
        ...(content || undefined),
      },
      ...defined({ error: failed }),
    })
  }

  const wentToWait = events.findIndex(({ event }) => asksForApproval(event))
  if (part === 'wait-ended') {
    const asked = events[wentToWait]
    const after = events.slice(wentToWait + 1)
    for (const { event } of events.slice(0, wentToWait))
      if (event.type === 'answer-received') for (const call of event.calls) calls.set(call.callId, call)
    for (const logged of after) read(logged)
    if (asked && after[0]) spans.push(wait(`${asked.seq}/wait`, 'approval', asked.at, after[0].at))
    return spans
  }
  for (const logged of wentToWait < 0 ? events : events.slice(0, wentToWait + 1)) read(logged)
  if (claimedAt > run.createdAt) spans.push(wait('queue', 'queue', run.createdAt, claimedAt))
  if (approval) spans.push(approvalSpan(approval, { traceId, own, digest }))
  if (!ended) return spans
  const { stopReason, error } = ended
  return [
    {
      traceId,
      spanId: runSpanId,
      ...defined({ parentSpanId: parent?.spanId }),
      name: agentName ? `${OPERATION.run} ${agentName}` : OPERATION.run,
      kind: 'internal',
      startAt: Math.min(run.createdAt, ended.at),
      endAt: ended.at,
      attributes: {
        [ATTRIBUTE.operation]: OPERATION.run,
        ...own,
        ...modelAttributes(settings.targets[0] ?? ''),
        [ATTRIBUTE.organizationId]: run.organizationId,
        [ATTRIBUTE.stopReason]: stopReason,
        [ATTRIBUTE.errorType]: error?.errorType,
        ...usageAttributes(total),
        ...(options.hasContent ? contentOfInputs(first) : undefined),
      },
      marks,
      ...defined({ error: error?.errorType }),
    },
    ...spans,
  ]
}

type AttemptFacts = { target: number; purpose?: Purpose; usage?: Usage; attributes?: Attributes; error?: string }

export const asksForApproval = (event: TurnEvent): boolean =>
  event.type === 'turn-ended' && event.stopReason === 'requires_approval'

const ownAttributes = (run: Run, agentName: string | undefined): Attributes => ({
  [ATTRIBUTE.agentId]: run.agentId,
  [ATTRIBUTE.agentName]: agentName,
  [ATTRIBUTE.conversationId]: run.conversationId,
  [ATTRIBUTE.runId]: run.id,
})

function modelAttributes(handle: string): Attributes {
  const target = parseTarget(handle)
  if (!target) return {}
  return { [ATTRIBUTE.provider]: providerName(target.provider), [ATTRIBUTE.requestModel]: target.model }
}

function usageAttributes(usage: Usage | undefined): Attributes {
  if (!usage) return {}
  return {
    [ATTRIBUTE.inputTokens]: usage.promptTokens,
    [ATTRIBUTE.outputTokens]: usage.completionTokens,
    [ATTRIBUTE.cachedTokens]: usage.cachedTokens,
    [ATTRIBUTE.cacheWriteTokens]: usage.cacheWriteTokens,
    [ATTRIBUTE.reasoningTokens]: usage.reasoningTokens,
  }
}

/** Part of the trace of the run that asked; its continuation is in the same trace. */
function approvalSpan(
  { asker, askedAt, answered }: NonNullable<RunStory['approval']>,
  { traceId, own, digest }: { traceId: string; own: Attributes; digest: Digest },
): Span {
  return {
    traceId,
    spanId: spanIdOf(`${asker.id}/${answered.seq}`, digest),
    parentSpanId: spanIdOf(asker.id, digest),
    name: 'wait approval',
    kind: 'internal',
    startAt: Math.min(askedAt, answered.at),
    endAt: answered.at,
    attributes: { ...own, [ATTRIBUTE.runId]: asker.id, [ATTRIBUTE.wait]: 'approval' satisfies Wait },
    marks: [],
  }
}

const cut = (text: string): string =>
  text.length <= CONTENT_CHARACTERS ? text : `${text.slice(0, CONTENT_CHARACTERS)}…`

function contentOfAnswer(event: TurnEvent): Attributes {
  if (event.type !== 'answer-received' && event.type !== 'answer-cut') return {}
  const parts = event.content.flatMap((part) => (part.type === 'text' ? { type: 'text', content: part.text } : []))
  return { [ATTRIBUTE.outputMessages]: cut(JSON.stringify([{ role: 'assistant', parts }])) }
}

function contentOfInputs({ inputs }: { inputs: readonly { role: string; content: unknown }[]; settings: RunSettings }) {
  const messages = inputs.map(({ role, content }) => ({ role, parts: textParts(content) }))
  return { [ATTRIBUTE.inputMessages]: cut(JSON.stringify(messages)) }
}

const textParts = (content: unknown): object[] =>
  (Array.isArray(content) ? content : []).flatMap((part) =>
    part?.type === 'text' ? [{ type: 'text', content: part.text }] : [],
  )
