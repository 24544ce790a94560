import { get, MISSING_UUID, patch, post, type RecordedRequest, remove } from '../request.ts'

const DEFAULT_ORGANIZATION = 'org-00000000-0000-4000-8000-000000000000'

/** Organizations, users and keys of every scope, in two organizations. */
export const PEOPLE: readonly RecordedRequest[] = [
  get('/v1/organizations'),
  post('/v1/organizations', { name: 'Other' }, { keep: { org: 'body.id' } }),
  get('/v1/organizations'),

  post('/v1/users', { name: 'Ada' }, { keep: { user: 'body.id' } }),
  post('/v1/users', { name: 'Bob', organization_id: '{{org}}' }, { keep: { 'other-user': 'body.id' } }),
  post('/v1/users', { name: 'Eve', organization_id: null }),
  post('/v1/users', { name: 'Eve', organization_id: `org-${MISSING_UUID}` }),
  post('/v1/users', { name: 'Eve', organization_id: 'nonsense' }),
  get('/v1/users'),
  get('/v1/users?organization_id={{org}}'),
  get(`/v1/users?organization_id=org-${MISSING_UUID}`),

  key('reader', { scope: 'read' }),
  key('worker', { scope: 'agent' }),
  key('admin', { scope: 'admin', user_id: '{{user}}' }),
  key('other-reader', { scope: 'read', organization_id: '{{org}}' }),
  key('other-worker', { scope: 'agent', organization_id: '{{org}}' }),
  key('other-admin', { scope: 'admin', organization_id: '{{org}}', user_id: '{{other-user}}' }),
  key('revoked', { scope: 'admin', expires_at: '2099-01-01T00:00:00Z' }),
  key('spare-key', { scope: 'read' }),
  post('/v1/keys', { name: 'late', scope: 'read', expires_at: '2001-01-01T00:00:00Z' }),
  post('/v1/keys', { name: 'offset', scope: 'read', expires_at: '2099-01-01T00:00:00+02:00' }),
  post('/v1/keys', { name: 'strange user', scope: 'read', user_id: '{{other-user}}' }),
  post('/v1/keys', { name: 'no user', scope: 'read', user_id: `user-${MISSING_UUID}` }),
  post('/v1/keys', { name: 'no organization', scope: 'read', organization_id: `org-${MISSING_UUID}` }),
  get('/v1/keys'),
  get('/v1/keys?organization_id={{org}}'),
  get('/v1/keys/{{spare-key-id}}'),
  get('/v1/keys/{{other-reader-id}}'),
  get('/v1/keys/{{other-reader-id}}?organization_id={{org}}'),
  get(`/v1/keys/key-${MISSING_UUID}`),
  remove('/v1/keys/{{revoked-id}}'),
  remove('/v1/keys/{{revoked-id}}'),
  get('/v1/agents', { key: 'revoked' }),
  remove(`/v1/keys/key-${MISSING_UUID}`),
  remove(`/v1/users/user-${MISSING_UUID}`),

  // Administrators of another organization see only their own.
  get('/v1/organizations', { key: 'other-admin' }),
  get('/v1/users', { key: 'other-admin' }),
  get('/v1/keys', { key: 'other-admin' }),
  get(`/v1/keys?organization_id=${DEFAULT_ORGANIZATION}`, { key: 'other-admin' }),
  get('/v1/keys/{{spare-key-id}}', { key: 'other-admin' }),
  remove('/v1/keys/{{spare-key-id}}', { key: 'other-admin' }),
  remove('/v1/users/{{user}}', { key: 'other-admin' }),
  post('/v1/organizations', { name: 'Third' }, { key: 'other-admin' }),
  post('/v1/users', { name: 'Mallory', organization_id: DEFAULT_ORGANIZATION }, { key: 'other-admin' }),
  post('/v1/keys', { name: 'm', scope: 'admin', organization_id: DEFAULT_ORGANIZATION }, { key: 'other-admin' }),
  post('/v1/users', { name: 'Zoe' }, { key: 'other-admin' }),
  post('/v1/organizations', { name: 'Third' }, { key: 'admin' }),
  get('/v1/organizations', { key: 'admin' }),

  get('/v1/limits'),
  get('/v1/limits', { key: 'reader' }),
  get('/v1/limits?organization_id={{org}}'),
  get(`/v1/limits?organization_id=${DEFAULT_ORGANIZATION}`, { key: 'other-admin' }),
  patch('/v1/organizations/{{org}}/limits', {
    limits: { queued_turns_per_organization: 900 },
    models: ['scripted/*'],
    providers: [],
  }),
  patch('/v1/organizations/{{org}}/limits', { models: ['nonsense'] }),
  patch('/v1/organizations/{{org}}/limits', { models: null, providers: null, limits: null }),
  patch('/v1/organizations/{{org}}/limits', { limits: { streams_per_organization: 3 } }, { key: 'other-admin' }),
  get('/v1/limits', { key: 'other-admin' }),

  get('/v1/audit'),
  get('/v1/audit?limit=3&order=asc'),
  get('/v1/audit?organization_id={{org}}'),
  get('/v1/audit', { key: 'other-admin' }),
  get(`/v1/audit?organization_id=${DEFAULT_ORGANIZATION}`, { key: 'other-admin' }),
]

/** Requests that cannot be repeated come last. */
export const PEOPLE_LEAVE: readonly RecordedRequest[] = [
  remove('/v1/keys/{{spare-key-id}}', { key: 'admin' }),
  get('/v1/keys/{{spare-key-id}}'),
  remove('/v1/users/{{other-user}}?organization_id={{org}}'),
  get('/v1/agents', { key: 'other-admin' }),
  remove('/v1/users/{{user}}'),
  get('/v1/agents', { key: 'admin' }),
]

/** Stores the secret under the name, and the id of the key under the name with `-id`. */
function key(name: string, wish: object): RecordedRequest {
  return post('/v1/keys', { name, ...wish }, { keep: { [name]: 'body.key', [`${name}-id`]: 'body.id' } })
}
