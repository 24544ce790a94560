import { readFileSync } from 'node:fs'
import { get, MISSING_UUID, patch, post, type RecordedRequest, remove } from '../request.ts'

const SERVER = '/v1/mcp-servers/{{mcp-server}}'

/** MCP servers of each transport, one of which answers. */
export const MCP_SERVERS: readonly RecordedRequest[] = [
  get('/v1/mcp-servers'),
  post(
    '/v1/mcp-servers',
    { server_name: 'live', config: { server_url: '{{mcp-url}}', auth_token: 'a-token-to-hide' } },
    {
      keep: { 'mcp-server': 'body.id' },
    },
  ),
  post('/v1/mcp-servers', { server_name: 'live', config: { server_url: '{{mcp-url}}' } }),
  post('/v1/mcp-servers', {
    server_name: 'older',
    config: { mcp_server_type: 'sse', server_url: '{{mcp-sse-url}}', custom_headers: { 'x-name': 'a-header-value' } },
  }),
  post(
    '/v1/mcp-servers',
    { server_name: 'program', config: { command: 'true', args: ['-x'], env: { A: 'a-variable' } } },
    {
      keep: { 'stdio-server': 'body.id' },
    },
  ),
  post(
    '/v1/mcp-servers',
    { server_name: 'nowhere', config: { server_url: '{{mcp-nowhere}}' } },
    {
      keep: { 'lost-server': 'body.id' },
    },
  ),
  post('/v1/mcp-servers', { server_name: 'private', config: { server_url: '{{mcp-url}}' } }, { key: 'other-admin' }),
  post('/v1/mcp-servers', { server_name: 'bad', config: { server_url: 'not an address' } }),
  get('/v1/mcp-servers'),
  get(SERVER),
  get(`${SERVER}/tools`, { keep: { 'mcp-tool': 'body.0.id' } }),
  get(`${SERVER}/tools/{{mcp-tool}}`),
  get(`${SERVER}/tools/{{tool}}`),
  post(`${SERVER}/tools/{{mcp-tool}}/run`, { args: { name: 'Ada' } }),
  patch(`${SERVER}/refresh`),
  patch('/v1/mcp-servers/{{stdio-server}}/refresh'),
  patch('/v1/mcp-servers/{{lost-server}}/refresh'),
  patch(SERVER, { server_name: 'alive', config: { auth_token: null } }),
  patch(SERVER, { config: { mcp_server_type: 'stdio', command: 'true' } }),
  patch('/v1/mcp-servers/{{stdio-server}}', { config: { args: [], env: { B: 'another-one' } } }),
  patch('/v1/mcp-servers/{{stdio-server}}', { server_name: 'older' }),
  get('/v1/mcp-servers', { key: 'reader' }),
  get(SERVER, { key: 'worker' }),
  get('/v1/mcp-servers', { key: 'other-admin' }),
  post('/v1/mcp-servers', { server_name: 'mine', config: { command: 'true', args: [] } }, { key: 'worker' }),
  patch(`${SERVER}/refresh`, undefined, { key: 'worker' }),
  post(`${SERVER}/connect`, {}),
  post(`${SERVER}/connect`, { client_secret: 'alone' }),
  post('/v1/mcp-servers/{{stdio-server}}/connect', {}),
  post(`${SERVER}/connect`, {}, { key: 'worker' }),
  post(`${SERVER}/connect/finish`, { redirected_to: 'http://127.0.0.1/?code=x' }),
  post(`${SERVER}/connect/finish`, { redirected_to: 'http://127.0.0.1/?code=x&state=forged' }),
  remove(`${SERVER}/connect`),
  get('/v1/mcp-servers/oauth/callback?error=access_denied&state=forged'),
  remove('/v1/mcp-servers/{{lost-server}}'),
  remove('/v1/mcp-servers/{{lost-server}}'),
]

const agentFile = (name: string): string =>
  readFileSync(new URL(`../../agent-files/${name}.af`, import.meta.url), 'utf8')

const IMPORT = '/v1/agents/import'

const imported = (form: Record<string, string>, more: Partial<RecordedRequest> = {}): RecordedRequest => ({
  method: 'POST',
  path: IMPORT,
  form,
  ...more,
})

/** Export and import of agents. */
export const AGENT_FILES: readonly RecordedRequest[] = [
  get('/v1/agents/{{agent}}/export?scrub_messages=true'),
  get('/v1/agents/{{spare}}/export'),
  get('/v1/agents/{{spare}}/export?conversation_id={{spare-conversation}}'),
  get('/v1/agents/{{spare}}/export?use_legacy_format=true'),
  imported({ file: agentFile('research'), model: 'scripted/friendly' }, { keep: { research: 'body.agent_ids.0' } }),
  get('/v1/agents/{{research}}'),
  imported({
    file: agentFile('long'),
    override_model_handle: 'scripted/friendly',
    override_name: 'long',
    strip_messages: 'true',
    append_copy_suffix: 'false',
    override_existing_tools: 'false',
    secrets: '{"A":"b"}',
  }),
  imported({ file: agentFile('twice-encoded'), model: 'scripted/friendly', name: 'twice' }),
  imported({ file: agentFile('with-conversation'), model: 'scripted/friendly', env_vars_json: '{"C":"d"}' }),
  imported({ file: agentFile('research') }),
  imported({ file: agentFile('research'), model: 'nowhere/model' }),
  imported({ file: 'not a file' }),
  imported({ file: '{}' }),
  imported({ file: '[]' }),
  imported({ file: '{"agents":[]}' }),
  imported({ name: 'no file' }),
  imported({ file: '{}', strip_messages: 'perhaps' }),
  imported({ file: agentFile('research'), secrets: 'not json', model: 'scripted/friendly' }),
  imported({ file: agentFile('research'), secrets: '{"a":5}', model: 'scripted/friendly' }),
  imported({ file: agentFile('research') }, { key: 'reader' }),
  post(IMPORT, { agents: [] }),
  post(IMPORT),
  { method: 'POST', path: IMPORT, raw: 'no form', headers: { 'content-type': 'multipart/form-data; boundary=x' } },
  { method: 'POST', path: IMPORT, raw: 'no form', headers: { 'content-type': 'multipart/form-data' } },
  { method: 'POST', path: '/v1/agents', form: { file: '{}' } },
]

/** A workspace with a process that has exited and one that is killed. */
export const WORKSPACES: readonly RecordedRequest[] = [
  get('/v1/workspaces'),
  get('/v1/workspaces/{{conversation}}'),
  remove('/v1/workspaces/{{conversation}}'),
  get('/v1/workspaces/{{conversation}}/processes/nothing'),
  post('/v1/workspaces/{{conversation}}/pages', {}),
  get('/v1/workspaces?agent_id=nonsense'),
  get('/v1/workspaces?after=nonsense'),
  get(`/v1/workspaces?after=conv-${MISSING_UUID}&limit=1`),

  post(
    '/v1/agents',
    { name: 'smith', model: 'scripted/friendly', include_base_tools: false, tools: ['shell', 'write_file'] },
    {
      keep: { smith: 'body.id' },
    },
  ),
  ...approved('run echo hello'),
  ...approved('run sleep 1000 in the background'),
  get('/v1/workspaces?agent_id={{smith}}', {
    keep: { workshop: 'body.0.conversation_id', process: 'body.0.processes.0.id' },
  }),
  get('/v1/workspaces?limit=1'),
  get('/v1/workspaces', { key: 'other-admin' }),
  get('/v1/workspaces/{{workshop}}'),
  get('/v1/workspaces/{{workshop}}', { key: 'reader' }),
  get('/v1/workspaces/{{workshop}}', { key: 'other-admin' }),
  get('/v1/workspaces/{{workshop}}/processes/{{process}}'),
  get('/v1/workspaces/{{workshop}}/processes/{{process}}?from=1&limit=2'),
  get('/v1/workspaces/{{workshop}}/processes/{{process}}?last=3'),
  get('/v1/workspaces/{{workshop}}/processes/nothing'),
  post('/v1/workspaces/{{workshop}}/pages', {}),
  post('/v1/workspaces/{{workshop}}/pages', { port: 22, minutes: 1 }),
  post('/v1/workspaces/{{workshop}}/pages', { port: 0, minutes: 0 }),
  post('/v1/workspaces/{{workshop}}/pages', {}, { key: 'reader' }),
  post('/v1/workspaces/{{workshop}}/pages', {}, { key: 'other-admin' }),
  remove('/v1/workspaces/{{workshop}}/pages/page-none'),
  get('/v1/workspaces/{{conversation}}/files'),
  get('/v1/workspaces/{{workshop}}/files'),
  get('/v1/workspaces/{{workshop}}/files?path=..'),
  get('/v1/workspaces/{{workshop}}/files?path=/etc'),
  get('/v1/workspaces/{{workshop}}/files?path=nothing'),
  get('/v1/workspaces/{{workshop}}/files?path='),
  get('/v1/workspaces/{{workshop}}/files?wake=perhaps'),
  get('/v1/workspaces/{{workshop}}/files', { key: 'reader' }),
  get('/v1/workspaces/{{workshop}}/files', { key: 'other-admin' }),
  get('/v1/workspaces/{{workshop}}/files/content'),
  get('/v1/workspaces/{{workshop}}/files/content?path=/etc/passwd'),
  get('/v1/workspaces/{{workshop}}/files/content?path=nothing'),
  get('/v1/workspaces/{{workshop}}/files/content?path=.', { key: 'other-admin' }),
]

/** The valid deletes of a workspace. */
export const WORKSPACE_LEAVES: readonly RecordedRequest[] = [
  remove('/v1/workspaces/{{workshop}}/processes/nothing'),
  remove('/v1/workspaces/{{workshop}}/processes/{{process}}'),
  remove('/v1/workspaces/{{workshop}}', { key: 'worker' }),
  remove('/v1/workspaces/{{workshop}}'),
  remove('/v1/workspaces/{{workshop}}'),
]

/** Without a sandbox every command waits for approval. */
function approved(order: string): RecordedRequest[] {
  return [
    post('/v1/agents/{{smith}}/messages', { input: order }),
    get('/v1/approvals', { keep: { command: 'body.0.tool_calls.0.tool_call_id' } }),
    post('/v1/agents/{{smith}}/messages', {
      messages: [{ type: 'approval', approvals: [{ tool_call_id: '{{command}}', approve: true }] }],
    }),
  ]
}
