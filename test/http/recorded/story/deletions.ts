import { get, type RecordedRequest, remove } from '../request.ts'

const twice = (path: string): RecordedRequest[] => [remove(path), remove(path)]

/** The valid deletes. They come last, because the rest of the corpus needs the resources. */
export const DELETIONS: readonly RecordedRequest[] = [
  ...twice('/v1/agents/{{agent}}/archival-memory/{{spare-passage}}'),
  ...twice('/v1/blocks/{{spare-block}}'),
  ...twice('/v1/tools/{{spare-tool}}'),
  remove('/v1/tools/{{counter-tool}}'),
  ...twice('/v1/conversations/{{fork}}'),
  remove('/v1/conversations/default?agent_id={{agent}}'),
  ...twice('/v1/mcp-servers/{{stdio-server}}'),
  ...twice('/v1/agents/{{research}}'),
  get('/v1/agents/{{research}}'),
  remove('/v1/agents/{{agent}}', { key: 'reader' }),
  remove('/v1/agents/{{agent}}', { key: 'other-admin' }),
  ...twice('/v1/agents/{{agent}}'),
  get('/v1/conversations/{{conversation}}'),
  get('/v1/runs/{{run}}'),
  get('/v1/steps/{{step}}'),
  get('/v1/messages/{{message}}'),
  remove('/v1/organizations/{{org}}', { key: 'other-admin' }),
  remove('/v1/organizations/org-00000000-0000-4000-8000-000000000000'),
  ...twice('/v1/organizations/{{org}}'),
]
