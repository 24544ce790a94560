import type { NotServed } from '../surface.ts'

const CLOUD = 'a service of the vendor’s cloud'

/** Methods of the official client that are not served yet, or exist in the vendor's cloud only. */
export const notServed: readonly NotServed[] = [
  { methods: ['PATCH'], path: '/v1/agents/:agent_id/archives/*', what: 'archives of agents' },
  { path: '/v1/agents/:agent_id/folders', what: 'folders of agents' },
  { path: '/v1/agents/:agent_id/folders/*', what: 'folders of agents' },
  { path: '/v1/agents/:agent_id/files', what: 'files of agents' },
  { path: '/v1/agents/:agent_id/files/*', what: 'files of agents' },
  { methods: ['PATCH'], path: '/v1/agents/:agent_id/identities/*', what: 'identities' },
  {
    methods: ['GET'],
    path: '/v1/runs/:run_id/trace',
    what: 'traces of runs; use /v1/runs/{id}/attempts and /v1/runs/{id}/events',
  },
  { path: '/v1/archives', what: 'archives' },
  { path: '/v1/archives/*', what: 'archives' },
  { path: '/v1/folders', what: 'folders' },
  { path: '/v1/folders/*', what: 'folders' },
  { path: '/v1/templates', what: `templates: ${CLOUD}` },
  { path: '/v1/templates/*', what: `templates: ${CLOUD}` },
  { path: '/v1/client-side-access-tokens', what: `access tokens for browsers: ${CLOUD}` },
  { path: '/v1/client-side-access-tokens/*', what: `access tokens for browsers: ${CLOUD}` },
  { path: '/v1/environments', what: `environments: ${CLOUD}` },
  { path: '/v1/environments/*', what: `environments: ${CLOUD}` },
]
