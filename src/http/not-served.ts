/** Methods of the official client that are not served yet, or exist in the vendor's cloud only. */
const LATER: readonly (readonly [methods: string, path: string, what: string])[] = [
  ['PATCH', '/v1/agents/{}/archives/*', 'archives of agents'],
  ['*', '/v1/agents/{}/folders', 'folders of agents'],
  ['*', '/v1/agents/{}/folders/*', 'folders of agents'],
  ['*', '/v1/agents/{}/files', 'files of agents'],
  ['*', '/v1/agents/{}/files/*', 'files of agents'],
  ['PATCH', '/v1/agents/{}/identities/*', 'identities'],
  ['*', '/v1/agents/{}/schedule', 'scheduled messages'],
  ['*', '/v1/agents/{}/schedule/*', 'scheduled messages'],
  ['GET', '/v1/runs/{}/trace', 'traces of runs; /v1/runs/{id}/attempts and /events tell what a run went through'],
  ['*', '/v1/archives', 'archives'],
  ['*', '/v1/archives/*', 'archives'],
  ['*', '/v1/folders', 'folders'],
  ['*', '/v1/folders/*', 'folders'],
  ['*', '/v1/templates', 'templates: a service of the vendor’s cloud'],
  ['*', '/v1/templates/*', 'templates: a service of the vendor’s cloud'],
  ['*', '/v1/client-side-access-tokens', 'access tokens for browsers: a service of the vendor’s cloud'],
  ['*', '/v1/client-side-access-tokens/*', 'access tokens for browsers: a service of the vendor’s cloud'],
  ['*', '/v1/environments', 'environments: a service of the vendor’s cloud'],
  ['*', '/v1/environments/*', 'environments: a service of the vendor’s cloud'],
]

const ROUTES = LATER.map(([method, path, what]) => ({ method, what, pattern: patternOf(path) }))

/** What a request without a route would have done, if the client knows it. */
export function comesLater(method: string, path: string): string | undefined {
  const plain = path.replace(/\/$/, '')
  return ROUTES.find((route) => (route.method === '*' || route.method === method) && route.pattern.test(plain))?.what
}

function patternOf(path: string): RegExp {
  const source = path.replaceAll('{}', '[^/]+').replace(/\*$/, '.+')
  return new RegExp(`^${source}$`)
}
