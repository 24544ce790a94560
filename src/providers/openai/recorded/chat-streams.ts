/** Chat Completions streams of OpenAI and compatible servers, named by their special feature. */
const envelope = { id: 'chatcmpl-B9MH', object: 'chat.completion.chunk', created: 1_741_570_283, model: 'gpt-4o' }
const event = (body: object): string => `data: ${JSON.stringify(body)}\n\n`
const chunk = (delta: object, finish: string | null = null, more: object = {}): string =>
  event({ ...envelope, choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }], usage: null, ...more })
const usage = (prompt: number, completion: number, details: object = {}): string =>
  event({
    ...envelope,
    choices: [],
    usage: { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion, ...details },
  })
const DONE = 'data: [DONE]\n\n'

const call = (index: number, id: string, name: string, json: string): object => ({
  tool_calls: [{ index, id, type: 'function', function: { name, arguments: json } }],
})
const more = (index: number, json: string): object => ({ tool_calls: [{ index, function: { arguments: json } }] })

export const CHAT_STREAMS: Record<string, string> = {
  'plain text with usage and cached tokens': [
    chunk({ role: 'assistant', content: '', refusal: null }),
    chunk({ content: 'Hello' }, null, { obfuscation: 'x8' }),
    chunk({ content: ', world' }, null, { obfuscation: 'k3Zq' }),
    chunk({}, 'stop'),
    usage(1_117, 12, {
      prompt_tokens_details: { cached_tokens: 1_024, audio_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 0 },
    }),
    DONE,
  ].join(''),
  'two calls at once': [
    chunk({ role: 'assistant', content: null }),
    chunk(call(0, 'call_a1', 'weather', '')),
    chunk(more(0, '{"ci')),
    chunk(more(0, 'ty":"Lisbon"}')),
    chunk(call(1, 'call_b2', 'time', '')),
    chunk(more(1, '{"zone":')),
    chunk(more(1, '"Europe/Lisbon"}')),
    chunk({}, 'tool_calls'),
    usage(80, 41),
    DONE,
  ].join(''),
  'calls whose deltas alternate': [
    chunk({ role: 'assistant', content: null, ...call(0, 'call_a1', 'weather', '{"city"') }),
    chunk(call(1, 'call_b2', 'weather', '{"city"')),
    chunk(more(0, ':"Porto"}')),
    chunk(more(1, ':"Faro"}')),
    chunk({}, 'tool_calls'),
    usage(80, 41),
    DONE,
  ].join(''),
  'text before a call': [
    chunk({ role: 'assistant', content: 'Let me ' }),
    chunk({ content: 'look.' }),
    chunk(call(0, 'call_a1', 'search', '{}')),
    chunk({}, 'tool_calls'),
    usage(9, 9),
    DONE,
  ].join(''),
  'text that reached the output limit': [
    chunk({ role: 'assistant', content: 'Once upon a' }),
    chunk({}, 'length'),
    usage(12, 3),
    DONE,
  ].join(''),
  'Azure: filter results first, usage last': [
    event({ ...envelope, choices: [], prompt_filter_results: [{ prompt_index: 0, content_filter_results: {} }] }),
    chunk({ role: 'assistant', content: '' }),
    event({
      ...envelope,
      choices: [{ index: 0, delta: { content: 'Fine.' }, finish_reason: null, content_filter_results: {} }],
    }),
    chunk({}, 'stop'),
    usage(5, 2),
    DONE,
  ].join(''),
  'DeepSeek: reasoning first': [
    chunk({ role: 'assistant', content: null, reasoning_content: 'Two and ' }),
    chunk({ content: null, reasoning_content: 'two.' }),
    chunk({ content: 'Four.', reasoning_content: null }),
    chunk({ content: '', reasoning_content: null }, 'stop', {
      usage: { prompt_tokens: 20, completion_tokens: 8, total_tokens: 28, prompt_cache_hit_tokens: 16 },
    }),
    DONE,
  ].join(''),
  'OpenRouter: comments while it waits, usage with the finish': [
    ': OPENROUTER PROCESSING\n\n: OPENROUTER PROCESSING\n\n',
    chunk({ role: 'assistant', content: 'Yes' }, null, { provider: 'Somebody' }),
    ': OPENROUTER PROCESSING\n\n',
    chunk({ role: 'assistant', content: '.' }, null, { provider: 'Somebody', native_finish_reason: null }),
    chunk({ role: 'assistant', content: '' }, 'stop', { provider: 'Somebody', native_finish_reason: 'end_turn' }),
    usage(10, 2, { cost: 0.0001 }),
    DONE,
  ].join(''),
  'other line ends and other letters': [
    chunk({ role: 'assistant', content: 'Grüße aus 東京 🦉\n' }),
    chunk({ content: '\u2028"quoted" \\ and more' }),
    chunk({}, 'stop'),
    usage(4, 9),
    DONE,
  ]
    .join('')
    .replaceAll('\n\n', '\r\n\r\n'),
}
