import { get, patch, post, put, type RecordedRequest, remove } from '../request.ts'

/** What belongs to no resource: health, names, methods, bodies no route can read. */
export const SERVER_STORY: readonly RecordedRequest[] = [
  get('/v1/health', { key: 'none' }),
  get('/v1/health/', { key: 'none' }),
  get('/v1/health?x=1', { key: 'wrong' }),
  get('/v1/ready', { key: 'none' }),
  get('/metrics', { only: 'status' }),
  get('/metrics', { key: 'none' }),
  get('/docs', { key: 'none', only: 'status' }),
  get('/openapi.json', { key: 'none', only: 'status' }),
  get('/', { key: 'none' }),
  get('/v1/agents/', { key: 'none' }),
  get('/v1/agents', { key: 'wrong' }),
  get('/v1/agents?limit=1&include=none', { key: 'none', headers: { authorization: 'Basic abc' } }),
  get('/v1/agents?limit=1&include=none', { key: 'none', headers: { authorization: 'bearer {{home}}' } }),
  get('/v1/agents?limit=1&include=none', { key: 'none', headers: { 'x-api-key': '{{home}}' } }),
  get('/v1/health', { headers: { host: 'evil.example' } }),
  get('/v1/agents?limit=1&include=none', { headers: { host: 'evil.example' } }),
  get('/v1/agents?limit=1&include=none', { headers: { origin: 'https://evil.example' } }),
  get('/v1/agents?limit=1&include=none', { headers: { origin: 'null' } }),
  get('/v1/agents?limit=1&include=none', { headers: { origin: 'http://localhost:1234' } }),
  get('/v1/agents?limit=1&include=none', { headers: { host: 'localhost' } }),

  ...['/v1', '/v1/', '/v2/agents', '/v1/nothing', '/nothing', '/v1//agents', '/v1/Agents', '/v1/agents/%zz'].map(
    (path) => get(path),
  ),
  // The router refuses these before anything else looks at them.
  ...['/v1/agents/{{long:201}}', '/v1/agents/%E4', '/nothing/%E4'].flatMap((path) => [
    get(path, { key: 'none' }),
    get(path, { headers: { host: 'evil.example' } }),
  ]),
  ...['/v1/nothing', '/v1/archives'].map((path) => get(path, { key: 'none' })),
  ...['/v1/agents', '/v1/health', '/v1/runs', '/v1/nothing', '/docs', '/v1/agents/{{agent}}'].flatMap((path) => [
    { method: 'HEAD', path },
    { method: 'OPTIONS', path },
    { method: 'TRACE', path },
  ]),
  { method: 'OPTIONS', path: '/v1/agents', key: 'none', headers: { origin: 'http://localhost:1' } },
  ...['/v1/agents', '/v1/agents/count', '/v1/models', '/v1/health', '/openapi.json', '/metrics'].flatMap((path) => [
    put(path, {}),
    remove(path),
    patch(path, {}),
  ]),
  ...['/v1/health', '/v1/models', '/v1/tags', '/v1/cache', '/v1/runs', '/v1/audit'].map((path) => post(path, {})),

  ...[
    ...['/v1/agents/{{agent}}/folders', '/v1/agents/{{agent}}/folders/attach/x', '/v1/agents/{{agent}}/files'],
    ...['/v1/agents/{{agent}}/files/x/open', '/v1/agents/{{agent}}/schedule', '/v1/agents/{{agent}}/schedule/x'],
    ...['/v1/runs/{{run}}/trace', '/v1/archives', '/v1/archives/x/passages', '/v1/folders', '/v1/folders/x/files/y'],
    ...['/v1/templates', '/v1/templates/x', '/v1/client-side-access-tokens', '/v1/client-side-access-tokens/x'],
    ...['/v1/environments', '/v1/environments/x/y', '/v1/archives/', '/v1/agents/{{agent}}/archives/attach/x'],
    ...['/v1/agents/{{agent}}/identities/attach/x', '/v1/identities', '/v1/groups', '/v1/batches', '/v1/providers'],
  ].flatMap((path) => [get(path), post(path, {}), patch(path, {}), remove(path), get(path, { key: 'reader' })]),

  ...['/v1/agents', '/v1/passages/search'].flatMap((path) => [
    rawPost(path, '{"name":', 'application/json'),
    rawPost(path, '{"name":"x"', 'application/json; charset=utf-8'),
    rawPost(path, '{}', 'application/json; charset=latin1'),
    rawPost(path, '{}', 'application/vnd.api+json'),
    rawPost(path, 'name=x', 'application/x-www-form-urlencoded'),
    rawPost(path, '{}', 'text/plain'),
    rawPost(path, '{}', 'nonsense'),
    rawPost(path, '', 'application/json'),
    rawPost(path, ' ', 'application/json'),
    rawPost(path, '\ufeff{}', 'application/json'),
    rawPost(path, '{"a":1,"a":2}', 'application/json'),
    rawPost(path, '{"__proto__":{"x":1},"constructor":{"prototype":{"y":1}}}', 'application/json'),
    rawPost(path, `${'['.repeat(64)}${']'.repeat(64)}`, 'application/json'),
    rawPost(path, `${'['.repeat(66)}${']'.repeat(66)}`, 'application/json'),
    rawPost(path, '{"name":"{{long:100000}}"}', 'application/json'),
    { method: 'POST', path, bytes: '/////w==', headers: { 'content-type': 'application/json' } },
    { method: 'POST', path, raw: '{}' },
    { method: 'POST', path, headers: { 'content-type': 'application/json' } },
  ]),
  {
    method: 'GET',
    path: '/v1/agents?limit=1&include=none',
    raw: '{}',
    headers: { 'content-type': 'application/json' },
  },
  { method: 'GET', path: '/v1/agents?limit=1&include=none', headers: { 'content-type': 'text/plain' } },
  { method: 'DELETE', path: '/v1/agents/nonsense', raw: '{', headers: { 'content-type': 'application/json' } },
]

function rawPost(path: string, raw: string, type: string): RecordedRequest {
  return { method: 'POST', path, raw, headers: { 'content-type': type } }
}
