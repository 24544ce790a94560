import type { Part } from '../../core/answer.ts'
import { newCallId } from './wire-names.ts'

/** One delta of a call. OpenAI always sends an index; compatible servers do not. */
export type CallDelta = {
  index?: number | null
  id?: string | null
  function?: { name?: string | null; arguments?: unknown } | null
}

type Slot = { id: string | undefined; callId: string; tool: string; json: string }

type CallSlots = { take(delta: CallDelta, parts: Part[]): void; count(): number }

/**
 * Assembles the calls of one answer. Servers repeat ids and names, send the same index for every call, or send none: a
 * new id with a name opens a new call, so do arguments after complete ones, and a name is assigned, never appended.
 */
export function newCallSlots(): CallSlots {
  const slots: Slot[] = []
  const slotAtIndex = new Map<number, number>()

  /** Outcomes refer to calls by id, so ids must be unique. */
  const unusedId = (id: string | null | undefined): string =>
    id && !slots.some((slot) => slot.callId === id) ? id : newCallId()

  /** The slot of this delta; undefined if it opens a new call. */
  function slotFor({ index, id, function: called }: CallDelta, json: string): number | undefined {
    const byId = id ? slots.findLastIndex((slot) => slot.id === id) : -1
    const isNumbered = typeof index === 'number'
    const known = isNumbered ? slotAtIndex.get(index) : byId >= 0 ? byId : slots.length - 1
    if (known === undefined) return byId >= 0 && !called?.name ? byId : undefined
    const slot = slots[known]
    if (!slot || !called?.name) return slot && known
    const hasOtherId = Boolean(id) && slot.id !== undefined && slot.id !== id
    return hasOtherId || startsNewCall(slot.json, json) ? undefined : known
  }

  return {
    take(delta, parts) {
      const { index, id, function: called } = delta
      const name = called?.name ?? ''
      const json = textOf(called?.arguments)
      const found = slotFor(delta, json)
      const at = found ?? slots.length
      if (found === undefined) slots.push({ id: id || undefined, callId: unusedId(id), tool: name, json: '' })
      if (typeof index === 'number') slotAtIndex.set(index, at)
      const slot = slots[at]!
      const isRenamed = name !== '' && name !== slot.tool
      const isIdentified = Boolean(id) && slot.id === undefined
      if (isRenamed) slot.tool = name
      if (isIdentified) {
        slot.callId = unusedId(id)
        slot.id = id!
      }
      if (found === undefined || isRenamed || isIdentified)
        parts.push({ type: 'call-start', index: at, callId: slot.callId, tool: slot.tool })
      if (json === '') return
      slot.json += json
      parts.push({ type: 'call-delta', index: at, json })
    },
    count: () => slots.length,
  }
}

/** Some servers send arguments as JSON values instead of text. */
function textOf(value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Complete arguments followed by an opening brace are two calls, even with equal ids and indexes. */
function startsNewCall(before: string, json: string): boolean {
  if (!before.endsWith('}') || !json.startsWith('{')) return false
  try {
    JSON.parse(before)
    return true
  } catch {
    return false
  }
}
