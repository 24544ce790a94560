import { z } from 'zod'
import { defined } from '../../core/defined.ts'
import type { LoggedEvent } from '../../core/event.ts'
import type { Input, InputPart, Message } from '../../core/message.ts'
import { Problem } from '../../core/problem.ts'
import { limit } from '../field.ts'
import { withoutEffect } from '../field-fate.ts'
import { withinPageBytes } from '../page-bytes.ts'
import { SERVER_LABEL } from './output-items.ts'
import type { WireItem } from './wire/item.ts'

export const itemQuery = z.object({
  limit: limit(20, 100),
  order: z.enum(['asc', 'desc']).default('desc').describe('`desc`, the default, is newest first.'),
  after: z.string().optional().describe('Id of the last item of the previous page.'),
  include: withoutEffect(z.unknown().optional(), 'items have everything that Holdfast keeps.'),
})

type ItemQuery = z.output<typeof itemQuery>

/** A page of items that are in order of their creation. */
export function itemPage(items: readonly WireItem[], { limit: size, order, after }: ItemQuery) {
  const sorted = order === 'asc' ? [...items] : items.toReversed()
  const from = after === undefined ? 0 : sorted.findIndex(({ id }) => id === after) + 1
  if (after !== undefined && from === 0) throw new Problem('not-found', `Unknown cursor "${after.slice(0, 100)}".`)
  const data = withinPageBytes(sorted.slice(from, from + size), { after, before: undefined })
  return listOf(data, from + data.length < sorted.length)
}

export const listOf = (data: WireItem[], hasMore: boolean) => ({
  object: 'list' as const,
  data,
  first_id: data[0]?.id ?? null,
  last_id: data.at(-1)?.id ?? null,
  has_more: hasMore,
})

/** What was sent to a run, results of the caller's tools included. */
export function itemsOfInputs(events: readonly LoggedEvent[]): WireItem[] {
  const first = events[0]?.event
  if (first?.type !== 'input-accepted') return []
  const results = (first.continues?.decisions ?? []).flatMap((decision): WireItem[] =>
    decision.verdict === 'result'
      ? [
          {
            id: `fco_${decision.callId}`,
            type: 'function_call_output',
            call_id: decision.callId,
            output: decision.output,
            status: 'completed',
          },
        ]
      : [],
  )
  return [...results, ...first.inputs.map(itemOfInput)]
}

const itemOfInput = ({ messageId, role, content }: Input): WireItem => messageItem(messageId, role, content)

const messageItem = (id: string, role: string, content: readonly InputPart[]): WireItem => ({
  id: `msg_${id.replace(/^message-/, '')}`,
  type: 'message',
  role,
  status: 'completed',
  content: content.map((part) => {
    if (part.type === 'image') return { type: 'input_image', detail: 'auto', image_url: urlOf(part) }
    return role === 'assistant'
      ? { type: 'output_text', text: part.text, annotations: [], logprobs: [] }
      : { type: 'input_text', text: part.text }
  }),
})

function urlOf({ source }: Extract<InputPart, { type: 'image' }>): string {
  return 'url' in source ? source.url : `data:${source.mediaType};base64,${source.data}`
}

/** A stored message of a conversation as items, in the order in which they happened. */
export function itemsOfMessage({ id, body }: Message): WireItem[] {
  switch (body.role) {
    case 'user':
    case 'system':
      return [messageItem(id, body.role, body.content)]
    case 'assistant': {
      const bare = id.replace(/^message-/, '')
      const text = body.content.flatMap((part) => (part.type === 'text' ? [part] : []))
      const reasoning = body.content.flatMap((part) =>
        part.type === 'reasoning' ? [{ type: 'reasoning_text', text: part.text }] : [],
      )
      return [
        ...(reasoning.length > 0
          ? [{ id: `rs_${bare}`, type: 'reasoning', status: 'completed', summary: [], content: reasoning }]
          : []),
        ...(text.length > 0 ? [messageItem(id, 'assistant', text)] : []),
        ...body.calls.map(({ callId, tool, input }) => ({
          id: `fc_${callId}`,
          type: 'function_call',
          call_id: callId,
          name: tool,
          arguments: JSON.stringify(input),
          status: 'completed',
        })),
      ]
    }
    case 'tool':
      return body.outcomes.map(({ callId, status, output }) => ({
        id: `fco_${callId}`,
        type: 'function_call_output',
        call_id: callId,
        output,
        status: 'completed',
        ...defined({ is_error: status === 'success' ? undefined : true }),
      }))
    case 'summary':
      return [{ id: `cmp_${id.replace(/^message-/, '')}`, type: 'compaction', summary: body.text, label: SERVER_LABEL }]
    case 'approval':
      return []
  }
}
