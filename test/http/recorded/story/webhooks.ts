import { get, MISSING_UUID, post, type RecordedRequest, remove } from '../request.ts'

const URL = 'https://hooks.example.com/events'

/** Nothing happens that they are told of. */
export const WEBHOOK_STORY: readonly RecordedRequest[] = [
  post('/v1/webhooks', { url: URL, events: ['webhook.disabled'], name: 'ops' }, { keep: { webhook: 'body.id' } }),
  post('/v1/webhooks', { url: URL, events: ['run.started'] }),
  post('/v1/webhooks', { url: 'http://user:password@example.com', events: ['run.ended'] }),
  post('/v1/webhooks', { url: URL, events: ['run.ended'] }, { key: 'reader' }),
  get('/v1/webhooks'),
  get('/v1/webhooks', { key: 'other-admin' }),
  get('/v1/webhooks/{{webhook}}'),
  get('/v1/webhooks/{{webhook}}', { key: 'other-admin' }),
  get(`/v1/webhooks/webhook-${MISSING_UUID}`),
  post('/v1/webhooks/{{webhook}}/secret'),
  post('/v1/webhooks/{{webhook}}/pause'),
  post('/v1/webhooks/{{webhook}}/test'),
  post('/v1/webhooks/{{webhook}}/resume'),
  get('/v1/webhook-deliveries?webhook_id={{webhook}}'),
  get('/v1/webhook-deliveries?state=lost'),
  post('/v1/webhook-deliveries/9999999/redeliver'),
  post('/v1/webhook-deliveries/x/redeliver'),
  remove('/v1/webhooks/{{webhook}}', { key: 'other-admin' }),
  remove('/v1/webhooks/{{webhook}}'),
]
