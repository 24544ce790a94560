import { get, MISSING_UUID, patch, post, type RecordedRequest } from '../request.ts'

/** The scripted model answers this text with one sentence. */
const ATLANTIS = 'what time is it in Atlantis'
const FAILING = 'fail with bad request'
const UNDER_WAY = ['created', 'running']

const settled = (run: string): RecordedRequest =>
  get(`/v1/runs/{{${run}}}`, { until: { at: 'body.status', not: UNDER_WAY } })

const user = (content: unknown, more: object = {}) => ({ messages: [{ role: 'user', content, ...more }] })

/** Every send mode, with an answer, a tool call, reasoning and a failure. */
const SENDING: readonly RecordedRequest[] = [
  post('/v1/agents/{{agent}}/messages', { input: ATLANTIS }, { keep: { run: 'headers.x-run-id' } }),
  post(
    '/v1/agents/{{agent}}/messages',
    user([{ type: 'text', text: 'remember that tea is warm' }], { otid: 'first' }),
    {
      keep: { 'tool-run': 'headers.x-run-id', message: 'body.messages.0.id', step: 'body.messages.0.step_id' },
    },
  ),
  post('/v1/agents/{{agent}}/messages', user('remember that tea is warm', { otid: 'first' })),
  post('/v1/agents/{{agent}}/messages', { input: FAILING }, { keep: { 'failed-run': 'headers.x-run-id' } }),
  post('/v1/agents/{{agent}}/messages', { input: 'fail with no credit' }),
  post('/v1/agents/{{agent}}/messages', { input: FAILING, streaming: true }),
  post('/v1/agents/{{agent}}/messages', { input: ATLANTIS, streaming: true, include_pings: false }),
  post(
    '/v1/agents/{{agent}}/messages/stream',
    { input: 'think about tea', stream_tokens: true },
    {
      keep: { 'thought-run': 'headers.x-run-id' },
    },
  ),
  post('/v1/agents/{{agent}}/messages/stream', {
    input: 'remember that ice is cold',
    background: true,
    include_return_message_types: ['assistant_message', 'tool_return_message'],
  }),
  post('/v1/agents/{{agent}}/messages/async', { input: ATLANTIS }, { keep: { 'async-run': 'headers.x-run-id' } }),
  settled('async-run'),
  post('/v1/agents/{{agent}}/messages', {
    input: ATLANTIS,
    include_return_message_types: ['hidden_reasoning_message'],
    max_steps: 1,
  }),
  post('/v1/agents/{{agent}}/messages', { input: ATLANTIS, override_model: 'scripted/other' }),
  post('/v1/agents/{{agent}}/messages', { input: ATLANTIS, override_model: 'nowhere/model' }),
  post('/v1/agents/{{agent}}/messages', { input: ATLANTIS, override_model: 'no-handle' }),
  post('/v1/agents/{{agent}}/messages', { input: ATLANTIS, stream_tokens: true }),
  post('/v1/agents/{{agent}}/messages', { input: ATLANTIS, background: true }),
  post('/v1/agents/{{agent}}/messages', { input: ATLANTIS, messages: [{ role: 'user', content: 'x' }] }),
  post('/v1/agents/{{agent}}/messages', { messages: [] }),
  post('/v1/agents/{{agent}}/messages', { input: ATLANTIS, callback_url: 'not an address' }),
  post('/v1/agents/{{agent}}/messages', { input: ATLANTIS, when_busy: 'sometimes' }),
  post('/v1/agents/{{agent}}/messages', { input: ATLANTIS, when_busy: 'steer', max_steps: 3 }),
  patch('/v1/agents/{{agent}}', { session_expiry: { timezone: 'Mars/Olympus' } }),
  post('/v1/agents/{{agent}}/messages', { input: ATLANTIS, callback_url: 'ftp://example.com' }),
  post(
    '/v1/agents/{{agent}}/messages',
    { input: ATLANTIS, callback_url: 'http://127.0.0.1:9/private' },
    { key: 'other-worker' },
  ),
  post(
    '/v1/agents/{{other-agent}}/messages',
    { input: FAILING, callback_url: 'http://127.0.0.1:9/private' },
    { key: 'other-worker' },
  ),
  post('/v1/agents/{{agent}}/messages', { input: FAILING }, { key: 'worker' }),
  post('/v1/agents/{{agent}}/messages', { messages: [{ type: 'approval', approvals: [] }] }),
  post('/v1/agents/{{agent}}/messages', { messages: [{ type: 'approval', approve: true }] }),
  post('/v1/agents/{{agent}}/messages', {
    messages: [
      { role: 'user', content: 'x' },
      { type: 'approval', approve: true },
    ],
  }),
  post('/v1/agents/{{agent}}/messages', {
    messages: [
      { role: 'assistant', content: [{ type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } }] },
    ],
  }),
  post('/v1/agents/{{agent}}/messages', {
    messages: [{ type: 'tool_return', tool_returns: [{ tool_call_id: 'x', tool_return: 'y', status: 'success' }] }],
  }),
  post('/v1/agents/{{agent}}/messages/cancel'),
  post('/v1/agents/{{agent}}/messages/cancel', { run_ids: ['{{run}}'] }),
  post('/v1/agents/{{agent}}/messages/cancel', { run_ids: ['nonsense'] }),
  post('/v1/agents/{{agent}}/messages/cancel', { run_ids: [`run-${MISSING_UUID}`] }),
  post('/v1/agents/{{agent}}/messages', user('remember that wine is red', { otid: 'first' }), { key: 'reader' }),
  post('/v1/agents/{{other-agent}}/messages', { input: FAILING }, { key: 'other-worker' }),
]

const READING: readonly RecordedRequest[] = [
  get('/v1/agents/{{agent}}/messages?limit=5'),
  get('/v1/agents/{{agent}}/messages?limit=3&order=asc'),
  get('/v1/agents/{{agent}}/messages?after={{message}}&limit=2'),
  get('/v1/agents/{{agent}}/messages?before={{message}}&limit=2'),
  get(
    '/v1/agents/{{agent}}/messages?include_return_message_types=user_message&include_return_message_types=reasoning_message',
  ),
  get(`/v1/agents/{{agent}}/messages?after=message-${MISSING_UUID}`),
  patch('/v1/agents/{{agent}}/messages/{{message}}', { content: 'other words' }),
  get('/v1/messages?limit=3'),
  get('/v1/messages?limit=3&order=asc'),
  get('/v1/messages?after={{message}}&limit=2&order=asc'),
  get('/v1/messages/{{message}}'),
  post('/v1/messages/search', { query: 'tea' }),
  post('/v1/messages/search', { query: 'tea', agent_id: '{{agent}}', search_mode: 'fts', limit: 2 }),
  post('/v1/messages/search', {
    query: 'tea',
    search_mode: 'vector',
    start_date: '2020-01-01',
    end_date: '2020-01-02',
  }),
  post('/v1/messages/search', { query: 'tea', agent_id: '{{other-agent}}' }),
  post('/v1/messages/search', { query: 'tea', conversation_id: 'nonsense' }),
  post('/v1/messages/search', { query: '' }),

  get('/v1/runs?limit=3'),
  get('/v1/runs?agent_id={{agent}}&statuses=failed&limit=2'),
  get('/v1/runs?statuses=completed&statuses=failed&order=asc&limit=2'),
  get('/v1/runs?stop_reason=end_turn&limit=1'),
  get('/v1/runs?active=true'),
  get('/v1/runs?background=true&limit=1'),
  get('/v1/runs?after={{run}}&order=asc&limit=1'),
  get('/v1/runs?before={{tool-run}}&order=asc&limit=1'),
  get('/v1/runs?agent_ids={{agent}}&agent_ids={{spare}}&limit=1'),
  ...['run', 'tool-run', 'failed-run'].flatMap((run) => [
    get(`/v1/runs/{{${run}}}`),
    get(`/v1/runs/{{${run}}}/messages`),
    get(`/v1/runs/{{${run}}}/steps`),
    get(`/v1/runs/{{${run}}}/usage`),
    get(`/v1/runs/{{${run}}}/attempts`),
    get(`/v1/runs/{{${run}}}/events`),
    get(`/v1/runs/{{${run}}}/chunks`),
    post(`/v1/runs/{{${run}}}/stream`),
  ]),
  get('/v1/runs/{{tool-run}}/messages?order=desc&limit=2'),
  get('/v1/runs/{{tool-run}}/messages?after={{message}}'),
  get('/v1/runs/{{tool-run}}/steps?order=desc&limit=1'),
  get('/v1/runs/{{tool-run}}/steps?after={{step}}&order=asc'),
  get('/v1/runs/{{thought-run}}/chunks?starting_after=1'),
  get('/v1/runs/{{run}}/chunks?starting_after=100000'),
  post('/v1/runs/{{tool-run}}/stream', { starting_after: 2, include_pings: false }),
  post('/v1/runs/{{run}}/stream', { starting_after: 100000 }),
  post('/v1/runs/{{thought-run}}/stream', {}, { key: 'reader' }),
  { method: 'DELETE', path: '/v1/runs/{{run}}' },

  get('/v1/steps?limit=2'),
  get('/v1/steps?agent_id={{agent}}&order=asc&limit=2'),
  get('/v1/steps?after={{step}}&order=asc&limit=1'),
  get('/v1/steps/{{step}}'),
  get('/v1/steps/{{step}}/messages'),
  get('/v1/steps/{{step}}/messages?order=desc&limit=1'),
  get('/v1/steps/{{step}}/metrics'),
  get('/v1/steps/{{step}}/trace'),
  patch('/v1/steps/{{step}}/feedback', { feedback: 'positive', tags: ['good'] }),
  patch('/v1/steps/{{step}}/feedback', { feedback: null }),
]

const APPROVALS: readonly RecordedRequest[] = [
  get('/v1/approvals'),
  post(
    '/v1/agents/{{agent}}/messages',
    { input: 'send a postcard to Bob' },
    { keep: { 'waiting-run': 'headers.x-run-id' } },
  ),
  get('/v1/approvals', { keep: { call: 'body.0.tool_calls.0.tool_call_id', digest: 'body.0.tool_calls.0.digest' } }),
  get('/v1/agents/{{agent}}?include=agent.pending_approval'),
  post('/v1/agents/{{agent}}/messages', { input: ATLANTIS }),
  post('/v1/approvals/{{waiting-run}}', { approvals: [{ tool_call_id: 'other', verdict: 'approve' }] }),
  post('/v1/approvals/{{waiting-run}}', {
    approvals: [{ tool_call_id: '{{call}}', verdict: 'approve', digest: 'other' }],
  }),
  post(
    '/v1/approvals/{{waiting-run}}',
    { approvals: [{ tool_call_id: '{{call}}', verdict: 'deny', reason: 'No.' }] },
    {
      keep: { 'denied-run': 'body.run_id' },
    },
  ),
  settled('denied-run'),
  post('/v1/approvals/{{waiting-run}}', { approvals: [{ tool_call_id: '{{call}}', verdict: 'deny' }] }),
  post('/v1/approvals/{{run}}', { approvals: [{ tool_call_id: 'x', verdict: 'approve' }] }),
  post('/v1/agents/{{agent}}/messages', { input: 'send a postcard to Eve', streaming: true }),
  get('/v1/approvals', { keep: { call: 'body.0.tool_calls.0.tool_call_id' } }),
  post('/v1/agents/{{agent}}/messages', {
    messages: [{ type: 'approval', approvals: [{ type: 'approval', tool_call_id: 'other', approve: false }] }],
  }),
  post('/v1/agents/{{agent}}/messages', {
    messages: [{ type: 'approval', approve: true, approval_request_id: 'other' }],
  }),
  post('/v1/agents/{{agent}}/messages', {
    messages: [{ type: 'approval', approvals: [{ tool_call_id: '{{call}}', approve: false, reason: 'Not today.' }] }],
  }),
  post('/v1/agents/{{agent}}/messages', { input: 'send a postcard to Eve' }),
  post('/v1/agents/{{agent}}/messages', {
    messages: [{ type: 'approval', approvals: [{ tool_call_id: '{{call}}', approve: true }] }],
  }),
  post('/v1/agents/{{agent}}/messages/stream', { messages: [{ type: 'approval', approve: true }] }),
  get('/v1/approvals', { keep: { call: 'body.0.tool_calls.0.tool_call_id' } }),
  post('/v1/agents/{{agent}}/messages/stream', {
    messages: [{ type: 'approval', approve: true, approval_request_id: '{{call}}' }],
  }),
  post('/v1/agents/{{agent}}/messages', { input: 'send a postcard to Eve' }),
  post('/v1/agents/{{agent}}/messages/cancel'),
  get('/v1/approvals'),
  post('/v1/agents/{{spare}}/messages', {
    input: 'count to 1',
    client_tools: [{ name: 'slow_count', description: 'Counts at the client.', parameters: { type: 'object' } }],
    client_skills: [{ name: 'counting', description: 'Numbers', location: 'here' }],
  }),
  get('/v1/approvals', { keep: { call: 'body.0.tool_calls.0.tool_call_id' } }),
  post('/v1/agents/{{spare}}/messages', {
    messages: [{ type: 'tool_return', tool_returns: [{ tool_call_id: '{{call}}', tool_return: 'One.' }] }],
  }),
  get('/v1/agents/{{agent}}/context'),
  post('/v1/agents/{{spare}}/summarize', { compaction_settings: { mode: 'all', model: 'letta/auto' } }),
  patch('/v1/agents/{{spare}}/reset-messages'),
  post('/v1/agents/{{spare}}/summarize'),
  get('/v1/agents/{{spare}}/messages'),
]

const CONVERSATIONS: readonly RecordedRequest[] = [
  post('/v1/conversations?agent_id={{agent}}', { summary: 'About tea' }, { keep: { conversation: 'body.id' } }),
  post(
    '/v1/conversations?agent_id={{agent}}',
    { isolated_block_labels: ['human'], hidden: true, model: 'scripted/friendly' },
    {
      keep: { 'own-conversation': 'body.id' },
    },
  ),
  post('/v1/conversations?agent_id={{spare}}', undefined, { keep: { 'spare-conversation': 'body.id' } }),
  post(
    '/v1/conversations?agent_id={{other-agent}}',
    {},
    { key: 'other-worker', keep: { 'other-conversation': 'body.id' } },
  ),
  post('/v1/conversations', {}),
  post('/v1/conversations?agent_id={{other-agent}}', {}),
  post('/v1/conversations?agent_id={{agent}}', { isolated_block_labels: ['nothing'] }),
  post('/v1/conversations?agent_id={{agent}}', { model: 'nowhere/model' }),
  get('/v1/conversations'),
  get('/v1/conversations?agent_id={{agent}}&order=asc&limit=1'),
  get('/v1/conversations?summary_search=tea'),
  get('/v1/conversations?archive_status=all&order_by=last_message_at'),
  get('/v1/conversations/{{conversation}}'),
  get('/v1/conversations/default?agent_id={{agent}}'),
  get('/v1/conversations/default'),
  get('/v1/conversations/{{agent}}'),
  get('/v1/conversations/{{other-conversation}}'),
  patch('/v1/conversations/{{conversation}}', {
    summary: 'About ice',
    description: 'Cold',
    context_window_limit: 5000,
  }),
  patch('/v1/conversations/{{conversation}}', { summary: null, archived: true, last_message_at: '2020-01-01' }),
  get('/v1/conversations?archive_status=archived'),
  patch('/v1/conversations/{{conversation}}', { archived: false, context_window_limit: null }),
  patch('/v1/conversations/default', { agent_id: '{{agent}}', description: 'The usual one' }),
  post('/v1/conversations/{{conversation}}/messages', { input: ATLANTIS }),
  post(
    '/v1/conversations/{{conversation}}/messages',
    { input: 'remember that ice is cold', streaming: false, messages: null },
    {
      keep: { 'conversation-run': 'headers.x-run-id', 'conversation-message': 'body.messages.0.id' },
    },
  ),
  post('/v1/conversations/{{conversation}}/messages', { input: FAILING, streaming: false }),
  post('/v1/conversations/{{conversation}}/messages', { input: ATLANTIS, streaming: false, stream_tokens: true }),
  post('/v1/conversations/default/messages', { input: FAILING, agent_id: '{{agent}}' }),
  post('/v1/conversations/default/messages?agent_id={{agent}}', { input: FAILING, streaming: false }),
  get('/v1/conversations/{{conversation}}/messages'),
  get('/v1/conversations/{{conversation}}/messages?order=asc&limit=2'),
  get('/v1/conversations/{{conversation}}/messages?after={{conversation-message}}&limit=1'),
  get('/v1/conversations/{{conversation}}/messages?before={{conversation-message}}&limit=1'),
  get('/v1/conversations/default/messages?agent_id={{spare}}'),
  get('/v1/agents/{{agent}}/messages?conversation_id={{conversation}}&limit=2'),
  get('/v1/messages?conversation_id={{conversation}}&limit=1'),
  post('/v1/messages/search', { query: 'ice', conversation_id: '{{conversation}}' }),
  post('/v1/conversations/{{conversation}}/stream', { run_id: '{{conversation-run}}', include_pings: false }),
  post('/v1/conversations/{{conversation}}/stream', { run_id: '{{run}}' }),
  post('/v1/conversations/{{conversation}}/stream', {}),
  post('/v1/conversations/default/stream', { agent_id: '{{agent}}', otid: 'first', include_pings: false }),
  post('/v1/conversations/{{conversation}}/stream', { otid: 'never said' }),
  post('/v1/conversations/{{conversation}}/cancel'),
  post('/v1/conversations/{{conversation}}/recompile'),
  post('/v1/conversations/default/recompile?dry_run=true', { agent_id: '{{agent}}' }),
  post('/v1/conversations/{{conversation}}/fork', undefined, { keep: { fork: 'body.id' } }),
  post('/v1/conversations/{{conversation}}/fork?message_id={{conversation-message}}&hidden=true'),
  post('/v1/conversations/{{conversation}}/fork', { message_id: '{{conversation-message}}', hidden: false }),
  post('/v1/conversations/{{conversation}}/fork', { message_id: '{{message}}' }),
  get('/v1/conversations/{{fork}}/messages?limit=2'),
  post('/v1/conversations/{{fork}}/compact', { compaction_settings: { mode: 'all' } }),
  post('/v1/conversations/{{spare-conversation}}/compact'),
  post(
    '/v1/holdfast/conversations/{{conversation}}/messages',
    { text: FAILING, otid: 'from the command line' },
    {
      keep: { 'command-run': 'body.run_id' },
    },
  ),
  settled('command-run'),
  post(
    '/v1/holdfast/conversations/{{conversation}}/messages',
    { text: FAILING, otid: 'from the command line' },
    { keep: { 'command-run': 'body.run_id' } },
  ),
  settled('command-run'),
  post(
    '/v1/holdfast/conversations/{{conversation}}/messages',
    { text: FAILING, reasoning_effort: 'high' },
    { keep: { 'command-run': 'body.run_id' } },
  ),
  settled('command-run'),

  // Runs that are cancelled, one through each route.
  post('/v1/conversations/{{conversation}}/messages', {
    input: 'tell me a story',
    background: true,
    cancel_on_disconnect: false,
    streaming: false,
  }),
  post(
    '/v1/agents/{{agent}}/messages/async',
    { input: 'count to 90' },
    { keep: { 'counting-run': 'headers.x-run-id' } },
  ),
  post('/v1/conversations/default/messages', { input: ATLANTIS, agent_id: '{{agent}}', streaming: false }),
  post('/v1/agents/{{agent}}/messages/cancel', { run_ids: ['{{counting-run}}'] }),
  settled('counting-run'),
  post(
    '/v1/agents/{{agent}}/messages/async',
    { input: 'count to 90' },
    { keep: { 'counting-run': 'headers.x-run-id' } },
  ),
  { method: 'DELETE', path: '/v1/runs/{{counting-run}}', only: 'status' as const },
  post(
    '/v1/agents/{{agent}}/messages/async',
    { input: 'count to 90' },
    { keep: { 'counting-run': 'headers.x-run-id' } },
  ),
  post('/v1/conversations/default/cancel', { agent_id: '{{agent}}' }),
  settled('counting-run'),
]

export const MESSAGE_STORY: readonly RecordedRequest[] = [...SENDING, ...READING, ...APPROVALS, ...CONVERSATIONS]
