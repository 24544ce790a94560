import { type Chunk, NOTHING_STREAMED, type NumberedChunk, renderEvent, spokenText } from '../../core/chunk.ts'
import { defined } from '../../core/defined.ts'
import type { LoggedEvent, TurnEvent } from '../../core/event.ts'
import type { MessageId } from '../../core/id.ts'
import type { ToolCall } from '../../core/tool-call.ts'
import { apply, newTurn } from '../../core/turn.ts'

/** What a response consists of. The calls of the agent's own tools are those of a server that is this one. */
export type OutputItem =
  | { type: 'message'; id: string; role: 'assistant'; status: ItemStatus; content: OutputText[] }
  | { type: 'reasoning'; id: string; status: ItemStatus; summary: never[]; content: ReasoningText[] }
  | { type: 'function_call'; id: string; call_id: string; name: string; arguments: string; status: ItemStatus }
  | McpCall
  | { type: 'mcp_approval_request'; id: string; server_label: string; name: string; arguments: string }

type McpCall = {
  type: 'mcp_call'
  id: string
  server_label: string
  name: string
  arguments: string
  output: string | null
  error: string | null
  status: 'in_progress' | 'completed' | 'failed'
  approval_request_id: string | null
}

type ItemStatus = 'in_progress' | 'completed' | 'incomplete'
type OutputText = { type: 'output_text'; text: string; annotations: never[]; logprobs: never[] }
type ReasoningText = { type: 'reasoning_text'; text: string }

/** What changed; a stream tells each change as one or more events. `index`: the position of the item in the output. */
export type ItemChange =
  | { type: 'added' | 'done'; index: number; item: OutputItem }
  | { type: 'text' | 'reasoning' | 'arguments'; index: number; item: OutputItem; delta: string }

export type OutputOptions = {
  /** Names of the tools that the caller runs. */
  clientTools: ReadonlySet<string>
  /** Calls of the run that this one continues; this stream has only their results. */
  inherited?: { answerId: MessageId; calls: readonly ToolCall[] }
}

export type OutputView = {
  take(chunk: Chunk): ItemChange[]
  /** The items that count: those of attempts that failed are left out. */
  items(): OutputItem[]
}

export const SERVER_LABEL = 'holdfast'

/** Folds the chunks of a run into the items of a response. It must get them from the first one on. */
export function newOutputView({ clientTools, inherited }: OutputOptions): OutputView {
  const output: { item: OutputItem; answerId: string; isDropped: boolean }[] = []
  const byCall = new Map<string, number>()
  /** The item that text is added to. */
  let open: number | undefined
  /** Items of an answer are numbered, so that a response that is read later has the same ids. */
  const slices = new Map<string, number>()

  function add(item: OutputItem, answerId: string): ItemChange {
    output.push({ item, answerId, isDropped: false })
    return { type: 'added', index: output.length - 1, item: { ...item } }
  }

  function update(index: number, change: Partial<OutputItem>): OutputItem {
    const entry = output[index]!
    entry.item = { ...entry.item, ...change } as OutputItem
    return entry.item
  }

  function close(status: ItemStatus = 'completed'): ItemChange[] {
    if (open === undefined) return []
    const index = open
    open = undefined
    return [{ type: 'done', index, item: update(index, { status } as Partial<OutputItem>) }]
  }

  function idOf(prefix: string, answerId: string): string {
    const slice = slices.get(answerId) ?? 0
    slices.set(answerId, slice + 1)
    return `${prefix}_${answerId.replace(/^message-/, '')}_${slice}`
  }

  function content(kind: 'message' | 'reasoning', answerId: MessageId, delta: string): ItemChange[] {
    if (delta === '') return []
    const before: ItemChange[] = []
    const current = open === undefined ? undefined : output[open]!
    if (!current || current.item.type !== kind || current.answerId !== answerId) {
      before.push(...close())
      const item: OutputItem =
        kind === 'message'
          ? { type: kind, id: idOf('msg', answerId), role: 'assistant', status: 'in_progress', content: [] }
          : { type: kind, id: idOf('rs', answerId), status: 'in_progress', summary: [], content: [] }
      before.push(add(item, answerId))
      open = output.length - 1
    }
    const index = open!
    const { item } = output[index]!
    if (item.type === 'message') {
      const text = (item.content[0]?.text ?? '') + delta
      const changed = update(index, { content: [{ type: 'output_text', text, annotations: [], logprobs: [] }] })
      return [...before, { type: 'text', index, item: changed, delta }]
    }
    const text = (item.type === 'reasoning' ? (item.content[0]?.text ?? '') : '') + delta
    const changed = update(index, { content: [{ type: 'reasoning_text', text }] })
    return [...before, { type: 'reasoning', index, item: changed, delta }]
  }

  function newCall(callId: string, name: string): OutputItem {
    if (clientTools.has(name))
      return { type: 'function_call', id: `fc_${callId}`, call_id: callId, name, arguments: '', status: 'in_progress' }
    return {
      type: 'mcp_call',
      id: `mcp_${callId}`,
      server_label: SERVER_LABEL,
      name,
      arguments: '',
      output: null,
      error: null,
      status: 'in_progress',
      approval_request_id: null,
    }
  }

  function beginCall(callId: string, name: string, answerId: string): ItemChange[] {
    if (byCall.has(callId)) return []
    byCall.set(callId, output.length)
    return [add(newCall(callId, name), answerId)]
  }

  function addArguments(callId: string, delta: string): ItemChange[] {
    const index = byCall.get(callId)
    const item = index === undefined ? undefined : output[index]!.item
    if (index === undefined || !item || !('arguments' in item) || delta === '') return []
    return [{ type: 'arguments', index, item: update(index, { arguments: item.arguments + delta }), delta }]
  }

  /** The whole call: what was not streamed of it, and for the caller's tools its end. */
  function wholeCall(callId: string, name: string, text: string, answerId: string): ItemChange[] {
    const begun = beginCall(callId, name, answerId)
    const index = byCall.get(callId)!
    const { item } = output[index]!
    const rest = 'arguments' in item ? text.slice(item.arguments.length) : ''
    const changes = [...begun, ...addArguments(callId, rest)]
    if (item.type !== 'function_call') return changes
    return [...changes, { type: 'done', index, item: update(index, { status: 'completed' }) }]
  }

  function approvalRequest(callId: string, name: string, text: string, answerId: string): ItemChange[] {
    const id = `mcpr_${callId}`
    const added = add({ type: 'mcp_approval_request', id, server_label: SERVER_LABEL, name, arguments: text }, answerId)
    return [added, { type: 'done', index: added.index, item: output[added.index]!.item }]
  }

  function result(callId: string, { status, output: text }: { status: string; output: string }): ItemChange[] {
    const before = byCall.has(callId) ? [] : beginInherited(callId)
    const index = byCall.get(callId)
    if (index === undefined || output[index]!.item.type !== 'mcp_call') return []
    const isSuccess = status === 'success'
    const item = update(index, {
      status: isSuccess ? 'completed' : 'failed',
      output: isSuccess ? text : null,
      error: isSuccess ? null : text,
    } as Partial<OutputItem>)
    return [...before, { type: 'done', index, item }]
  }

  function beginInherited(callId: string): ItemChange[] {
    const call = inherited?.calls.find((one) => one.callId === callId)
    if (!call || clientTools.has(call.tool)) return []
    const begun = beginCall(callId, call.tool, inherited!.answerId)
    const approval = call.needsApproval ? { approval_request_id: `mcpr_${callId}` } : {}
    update(byCall.get(callId)!, approval as Partial<OutputItem>)
    return [...begun, ...addArguments(callId, JSON.stringify(call.input))]
  }

  /** What an attempt left behind when it failed is not part of the answer. */
  function drop(answerId: string | null): ItemChange[] {
    const dropped = output.flatMap((entry, index) =>
      !entry.isDropped && (answerId === null || entry.answerId === answerId) && isUnfinished(entry.item, index)
        ? [index]
        : [],
    )
    for (const entry of output) if (entry.answerId === answerId) entry.isDropped = true
    open = undefined
    return dropped.map((index) => {
      output[index]!.isDropped = true
      return { type: 'done', index, item: update(index, { status: 'incomplete' } as Partial<OutputItem>) }
    })
  }

  const isUnfinished = (item: OutputItem, index: number): boolean =>
    index === open || ('status' in item && item.status === 'in_progress')

  return {
    take(chunk) {
      switch (chunk.message_type) {
        case 'assistant_message':
          return content('message', chunk.id, chunk.content)
        case 'reasoning_message':
          return content('reasoning', chunk.id, chunk.reasoning)
        case 'tool_call_delta': {
          const { id, tool_call_id: callId, name, needs_approval, arguments: text } = chunk
          // A call that waits for a person is shown whole, as a request.
          if (name !== undefined && needs_approval && !clientTools.has(name)) return close()
          const begun = name === undefined ? [] : beginCall(callId, name, id)
          return [...close(), ...begun, ...addArguments(callId, text)]
        }
        case 'tool_call_message': {
          const speech = spokenText(chunk.tool_calls)
          if (speech !== undefined) return [...close(), ...content('message', chunk.id, speech), ...close()]
          return [
            ...close(),
            ...chunk.tool_calls.flatMap((call) => wholeCall(call.tool_call_id, call.name, call.arguments, chunk.id)),
          ]
        }
        case 'approval_request_message':
          return [
            ...close(),
            ...chunk.tool_calls.flatMap(({ tool_call_id, name, arguments: text }) =>
              clientTools.has(name)
                ? wholeCall(tool_call_id, name, text, chunk.id)
                : approvalRequest(tool_call_id, name, text, chunk.id),
            ),
          ]
        case 'tool_return_message': {
          const { tool_call_id, status, tool_return } = chunk.tool_return
          return [...close(), ...result(tool_call_id, { status, output: tool_return })]
        }
        case 'message_reset':
          return drop(chunk.id)
        case 'stop_reason':
          return close(
            chunk.stop_reason === 'cancelled' || chunk.stop_reason === 'max_tokens_exceeded'
              ? 'incomplete'
              : 'completed',
          )
        case 'attempt_failed':
        case 'tool_progress':
        case 'worker_lost':
        case 'summary_message':
        case 'error_message':
        case 'usage_statistics':
        case 'done':
          return []
      }
    },
    items: () => output.filter(({ isDropped }) => !isDropped).map(({ item }) => item),
  }
}

export const isTerminal = ({ chunk }: NumberedChunk): boolean => chunk.message_type === 'done'

/** The items of a run as its log has them. */
export function outputOf(events: readonly LoggedEvent[], options: OutputOptions): OutputItem[] {
  const view = newOutputView(options)
  const [first, ...rest] = events.map(({ event }) => event)
  if (first?.type !== 'input-accepted') return []
  let turn = newTurn(first)
  for (const event of rest) {
    for (const chunk of renderEvent(turn, event, NOTHING_STREAMED)) view.take(chunk)
    turn = apply(turn, event)
  }
  return view.items()
}

/** What a view needs to know of the run before its first chunk. */
export function outputOptions(first: Extract<TurnEvent, { type: 'input-accepted' }>): OutputOptions {
  const { settings, continues } = first
  return {
    clientTools: new Set((settings.clientTools ?? []).map(({ name }) => name)),
    ...defined({ inherited: continues && { answerId: continues.answerId, calls: continues.calls } }),
  }
}
