import { get, MISSING_UUID, post, type RecordedRequest, remove } from '../request.ts'

const MESSAGES = [{ role: 'user', content: 'Wake up.' }]
const FAR = 5_000_000_000_000

/** Far in the future: no run comes of them. */
export const SCHEDULE_STORY: readonly RecordedRequest[] = [
  post(
    '/v1/agents/{{agent}}/schedule',
    { messages: MESSAGES, schedule: { type: 'one-time', scheduled_at: FAR } },
    { keep: { schedule: 'body.id' } },
  ),
  post('/v1/agents/{{agent}}/schedule', { messages: MESSAGES, schedule: { scheduled_at: 1 } }),
  post('/v1/agents/{{agent}}/schedule', { messages: [], schedule: { cron_expression: '@yearly' } }),
  post('/v1/agents/{{agent}}/schedule', { messages: MESSAGES, schedule: { cron_expression: '0 0 30 2 *' } }),
  get('/v1/agents/{{agent}}/schedule'),
  get('/v1/agents/{{agent}}/schedule?after={{schedule}}&limit=1'),
  get(`/v1/agents/{{agent}}/schedule?after=schedule-${MISSING_UUID}`),
  get('/v1/agents/{{agent}}/schedule/{{schedule}}'),
  get(`/v1/agents/{{agent}}/schedule/schedule-${MISSING_UUID}`),
  get('/v1/agents/{{agent}}/schedule/x'),
  post('/v1/schedules', {
    agent_id: '{{agent}}',
    name: 'spring',
    content: 'Clean.',
    at: '2120-03-01T09:00:00Z',
    grace_seconds: 600,
    on_guarded: 'ask',
  }),
  post('/v1/schedules', { agent_id: '{{agent}}', content: 'Clean.' }),
  post('/v1/schedules', { agent_id: '{{agent}}', content: 'Clean.', every_seconds: 5 }),
  post('/v1/schedules', { agent_id: '{{agent}}', content: 'Clean.', cron: '@daily' }, { key: 'reader' }),
  post(
    '/v1/schedules',
    { agent_id: '{{agent}}', heartbeat: { turns_per_day: 5, rest_seconds: 60 }, cron: '0 9 1 1 *' },
    { keep: { heartbeat: 'body.id' } },
  ),
  post('/v1/schedules', { agent_id: '{{agent}}', heartbeat: { turns_per_day: 0 }, cron: '0 9 1 1 *' }),
  post('/v1/schedules', { agent_id: '{{agent}}', heartbeat: {}, cron: '0 9 1 1 *', coalesce: false }),
  remove('/v1/schedules/{{heartbeat}}'),
  get('/v1/schedules'),
  get('/v1/schedules', { key: 'other-admin' }),
  get('/v1/schedules/{{schedule}}'),
  get('/v1/schedules/{{schedule}}/upcoming?limit=2'),
  get('/v1/schedules/{{schedule}}/upcoming', { key: 'other-admin' }),
  get('/v1/schedules/{{schedule}}', { key: 'other-admin' }),
  post('/v1/schedules/{{schedule}}/pause'),
  post('/v1/schedules/{{schedule}}/resume'),
  get('/v1/schedules/{{schedule}}/history'),
  post(`/v1/schedules/schedule-${MISSING_UUID}/run`),
  remove('/v1/schedules/{{schedule}}', { key: 'other-admin' }),
  remove('/v1/agents/{{agent}}/schedule/{{schedule}}'),
  remove('/v1/schedules/{{schedule}}'),
]
