import type { Part } from '../core/answer.ts'
import { argumentsText, type Chunk, waitsForApproval } from '../core/chunk.ts'
import { type CompactJson, newCompactJson } from '../core/compact-json.ts'
import { defined } from '../core/defined.ts'
import type { MessageId } from '../core/id.ts'
import { type WaitSettings, waitsForAnswer } from '../core/run.ts'
import type { ToolCall } from '../core/tool-call.ts'
import type { ToolRegistry } from '../ports/tool.ts'

/**
 * Streams the arguments of one answer's calls while the model writes them, in the form in which they will be stored. A
 * call is held back until it is whole if its id is unusable, its tool unknown, or its guard depends on its arguments.
 */
export type CallStream = {
  /** The chunk for a part of the answer, if it adds to the arguments of a call. */
  take(part: Part): Chunk | undefined
  hasStreamed(): boolean
  isStreamed(callId: string): boolean
  /** What the stream still lacks of these stored calls; `differs`: it holds something else. */
  restOf(calls: readonly ToolCall[]): Chunk[] | 'differs'
}

type CallStreamOptions = {
  answerId: MessageId
  settings: WaitSettings
  tools: Pick<ToolRegistry, 'find'>
  allowed: readonly string[]
}

type Slot = { callId: string; tool: string; json: CompactJson; held: string; streamed: string; isGuarded: boolean }

export function newCallStream({ answerId, settings, tools, allowed }: CallStreamOptions): CallStream {
  const slots = new Map<number, Slot>()
  let content: string | undefined
  let hasStreamed = false
  /** Subscribers were told a name, an id or an order that is not the one of the stored answer. */
  let isDisordered = false

  function slotAt(index: number): Slot {
    const slot = slots.get(index) ?? {
      callId: '',
      tool: '',
      json: newCompactJson(),
      held: '',
      streamed: '',
      isGuarded: false,
    }
    slots.set(index, slot)
    return slot
  }

  function startCall({ index, callId, tool }: Extract<Part, { type: 'call-start' }>): void {
    const slot = slotAt(index)
    if (slot.streamed !== '' && (slot.callId !== callId || slot.tool !== tool)) isDisordered = true
    slot.callId = callId
    slot.tool = tool
    if (isSpeech(slot)) noteContent(`call ${index}`)
  }

  const isSpeech = ({ tool }: Slot) => tools.find(tool)?.isSpeech === true

  function addArguments({ index, json }: Extract<Part, { type: 'call-delta' }>): Chunk | undefined {
    const slot = slotAt(index)
    const text = slot.held + slot.json.add(json)
    const isFirst = slot.streamed === ''
    const canStream = text !== '' && !isDisordered && (!isFirst || isStreamable(slot))
    slot.held = canStream ? '' : text
    if (!canStream) return undefined
    slot.streamed += text
    hasStreamed = true
    const delta: Chunk = { message_type: 'tool_call_delta', id: answerId, tool_call_id: slot.callId, arguments: text }
    if (!isFirst) return delta
    return { ...delta, name: slot.tool, ...defined({ needs_approval: slot.isGuarded ? (true as const) : undefined }) }
  }

  function isStreamable(slot: Slot): boolean {
    const tool = allowed.includes(slot.tool) ? tools.find(slot.tool) : undefined
    const others = [...slots.values()].filter((other) => other !== slot)
    // What is said is shown whole, before the other calls.
    if ([slot, ...others].some(isSpeech)) return false
    if (!tool || slot.callId === '' || others.some(({ callId }) => callId === slot.callId)) return false
    slot.isGuarded = tool.needsApproval && waitsForAnswer(slot.tool, settings)
    return slot.isGuarded || settings.onGuarded === 'deny' || !tool.approvalReason
  }

  /** A call is numbered after the content: content that begins later would take its number. */
  function noteContent(kind: string): void {
    if (hasStreamed && content !== kind) isDisordered = true
    content = kind
  }

  return {
    take(part) {
      if (part.type === 'call-delta') return addArguments(part)
      if (part.type === 'call-start') startCall(part)
      if (part.type === 'text-delta' || part.type === 'reasoning-delta') noteContent(part.type)
      return undefined
    },
    hasStreamed: () => hasStreamed,
    isStreamed: (callId) => [...slots.values()].some((slot) => slot.callId === callId && slot.streamed !== ''),
    restOf(calls) {
      if (isDisordered) return 'differs'
      const rests: Chunk[] = []
      for (const { callId, tool, streamed, isGuarded } of slots.values()) {
        if (streamed === '') continue
        const call = calls.find((one) => one.callId === callId)
        const text = call && argumentsText(call)
        if (call?.tool !== tool || waitsForApproval(call, settings) !== isGuarded || !text?.startsWith(streamed))
          return 'differs'
        const rest = text.slice(streamed.length)
        if (rest !== '')
          rests.push({ message_type: 'tool_call_delta', id: answerId, tool_call_id: callId, arguments: rest })
      }
      return rests
    },
  }
}
