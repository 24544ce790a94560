type Item = { id: string; type: string; [key: string]: unknown }
type Recording = { output: Item[]; usage: object; incomplete?: string }

/** A complete stream of the Responses API: every item is added, streamed and done. */
function record({ output, usage, incomplete }: Recording): string {
  let sequence = 0
  const events: string[] = []
  const emit = (type: string, more: object) =>
    events.push(`event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: sequence++, ...more })}\n\n`)
  const response = (status: string, items: Item[], stated: object | null) => ({
    id: 'resp_67c9',
    object: 'response',
    created_at: 1_741_290_958,
    model: 'gpt-5',
    store: false,
    error: null,
    incomplete_details: incomplete && stated ? { reason: incomplete } : null,
    status,
    output: items,
    usage: stated,
    tools: [],
    parallel_tool_calls: true,
    metadata: {},
  })
  emit('response.created', { response: response('in_progress', [], null) })
  emit('response.in_progress', { response: response('in_progress', [], null) })
  for (const [output_index, item] of output.entries()) {
    const at = { item_id: item.id, output_index }
    emit('response.output_item.added', { output_index, item: { ...item, ...EMPTY[item.type], status: 'in_progress' } })
    PIECES[item.type]!(item, at, emit)
    emit('response.output_item.done', { output_index, item })
  }
  const status = incomplete ? 'incomplete' : 'completed'
  emit(`response.${status}`, { response: response(status, output, usage) })
  return events.join('')
}

type Say = (type: string, more: object) => void
const EMPTY: Record<string, object> = {
  message: { content: [] },
  reasoning: { summary: [] },
  function_call: { arguments: '' },
}

const PIECES: Record<string, (item: Item, at: object, say: Say) => void> = {
  message(item, at, say) {
    for (const [content_index, part] of (item.content as { type: string; text: string }[]).entries()) {
      const position = { ...at, content_index }
      say('response.content_part.added', { ...position, part: { ...part, text: '' } })
      for (const delta of halves(part.text)) say('response.output_text.delta', { ...position, delta, logprobs: [] })
      say('response.output_text.done', { ...position, text: part.text, logprobs: [] })
      say('response.content_part.done', { ...position, part })
    }
  },
  reasoning(item, at, say) {
    for (const [summary_index, part] of (item.summary as { text: string }[]).entries()) {
      const position = { ...at, summary_index }
      say('response.reasoning_summary_part.added', { ...position, part: { type: 'summary_text', text: '' } })
      for (const delta of halves(part.text)) say('response.reasoning_summary_text.delta', { ...position, delta })
      say('response.reasoning_summary_text.done', { ...position, text: part.text })
      say('response.reasoning_summary_part.done', { ...position, part })
    }
  },
  function_call(item, at, say) {
    for (const delta of halves(item.arguments as string))
      say('response.function_call_arguments.delta', { ...at, delta })
    say('response.function_call_arguments.done', { ...at, arguments: item.arguments })
  },
}

const halves = (text: string): string[] => [text.slice(0, text.length >> 1), text.slice(text.length >> 1)]

const message = (id: string, text: string, status = 'completed'): Item => ({
  id,
  type: 'message',
  role: 'assistant',
  status,
  content: [{ type: 'output_text', text, annotations: [], logprobs: [] }],
})
const reasoning = (id: string, ...texts: string[]): Item => ({
  id,
  type: 'reasoning',
  encrypted_content: `gAAAA-${id}`,
  summary: texts.map((text) => ({ type: 'summary_text', text })),
})
const called = (id: string, name: string, args: string): Item => ({
  id,
  type: 'function_call',
  call_id: `call_${id}`,
  name,
  arguments: args,
  status: 'completed',
})
const usage = (input: number, output: number, cached = 0, thought = 0): object => ({
  input_tokens: input,
  input_tokens_details: { cached_tokens: cached, cache_write_tokens: 0 },
  output_tokens: output,
  output_tokens_details: { reasoning_tokens: thought },
  total_tokens: input + output,
})

export const RESPONSES_STREAMS: Record<string, string> = {
  'plain text': record({ output: [message('msg_1', 'Hello, world')], usage: usage(36, 4) }),
  'reasoning with a summary in two parts, then text': record({
    output: [reasoning('rs_1', 'Two and two', 'Four'), message('msg_1', 'It is four.')],
    usage: usage(1_200, 90, 1_024, 64),
  }),
  'reasoning without a summary, then a call': record({
    output: [reasoning('rs_1'), called('fc_1', 'weather', '{"city":"Lisbon"}')],
    usage: usage(200, 40, 0, 20),
  }),
  'two calls at once': record({
    output: [called('fc_1', 'weather', '{"city":"Porto"}'), called('fc_2', 'time', '{"zone":"Europe/Lisbon"}')],
    usage: usage(99, 44),
  }),
  'text between reasoning and a call': record({
    output: [reasoning('rs_1', 'Look it up'), message('msg_1', 'Let me look.'), called('fc_1', 'search', '{}')],
    usage: usage(70, 30, 64, 10),
  }),
  'text that reached the output limit': record({
    output: [message('msg_1', 'Once upon a', 'incomplete')],
    usage: usage(20, 16),
    incomplete: 'max_output_tokens',
  }),
  'other line ends and other letters': record({
    output: [message('msg_1', 'Grüße aus 東京 🦉\n\u2028"quoted"')],
    usage: usage(4, 9),
  }).replaceAll('\n', '\r\n'),
}
