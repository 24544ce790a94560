import { get, MISSING_UUID, patch, post, type RecordedRequest, remove } from '../request.ts'

const SECRET = 'a-secret-of-the-sender'

/** No run comes of them: nothing is signed. */
export const HOOK_STORY: readonly RecordedRequest[] = [
  post(
    '/v1/hooks',
    { agent_id: '{{agent}}', scheme: 'github', secret: SECRET, template: '{{ event }}', events: ['issues'] },
    { keep: { hook: 'body.id' } },
  ),
  post('/v1/hooks', { agent_id: '{{agent}}', scheme: 'github', template: '{{ who }}' }),
  post('/v1/hooks', { agent_id: '{{agent}}', scheme: 'hmac', template: 'x', signature_header: 'a b' }),
  post('/v1/hooks', { agent_id: '{{agent}}', scheme: 'stripe', template: 'x' }, { key: 'reader' }),
  get('/v1/hooks'),
  get('/v1/hooks', { key: 'other-admin' }),
  get('/v1/hooks/{{hook}}'),
  get('/v1/hooks/{{hook}}', { key: 'other-admin' }),
  post('/v1/hooks/{{hook}}', { action: 'opened' }),
  post(`/v1/hooks/hook-${MISSING_UUID}`, { action: 'opened' }),
  post('/v1/hooks/x', {}),
  post('/v1/hooks/{{hook}}/secret', { secret: 'short' }),
  patch('/v1/hooks/{{hook}}', { per_minute: 5, events: null, name: 'renamed' }),
  patch('/v1/hooks/{{hook}}', { template: '{{ who }}' }),
  patch('/v1/hooks/{{hook}}', { name: 'taken' }, { key: 'other-admin' }),
  post('/v1/hooks/{{hook}}/pause'),
  post('/v1/hooks/{{hook}}/resume'),
  get('/v1/hooks/{{hook}}/deliveries'),
  get('/v1/hooks/{{hook}}/deliveries?before=x'),
  remove('/v1/hooks/{{hook}}', { key: 'other-admin' }),
  remove('/v1/hooks/{{hook}}'),
]
