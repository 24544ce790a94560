import { hmacSha256 } from '../../src/config/sha256.ts'
import { DEFAULT_LIMITS } from '../../src/core/limits.ts'
import { COMMAND_LINE } from '../../src/core/people.ts'
import type { EngineDeps } from '../../src/engine/engine-deps.ts'
import { newChangeFeed } from '../../src/live/change-feed.ts'
import type { Backups } from '../../src/ports/backups.ts'
import type { Credentials } from '../../src/ports/credentials.ts'
import type { PythonPackages } from '../../src/ports/python-packages.ts'
import type { SecretBox } from '../../src/ports/secret-box.ts'
import type { Workspaces } from '../../src/ports/workspaces.ts'
import { newExpectedCallbacks } from '../../src/service/messages/expected-callbacks.ts'
import { newTurnOwners } from '../../src/service/messages/turn-owners.ts'
import type { ServiceContext } from '../../src/service/service-context.ts'
import { defineTool, failure } from '../../src/tools/define-tool.ts'

/** Engine dependencies that most tests do not use: no MCP server answers, and no process runs. */
export const stubEngineDeps = (): Pick<EngineDeps, 'mcp' | 'sources' | 'endProcesses'> => ({
  sources: {
    toTool: ({ name, description, jsonSchema }) => ({
      ...defineTool({
        name,
        description,
        inputSchema: { type: 'object' },
        effects: 'none',
        run: async () => failure('This test runs no sources.'),
      }),
      inputSchema: jsonSchema.parameters ?? { type: 'object' },
    }),
  },
  mcp: {
    list: async () => ({ type: 'failed', kind: 'unreachable', detail: 'this test has no MCP servers' }),
    catalog: async () => ({ type: 'failed', kind: 'unreachable', detail: 'this test has no MCP servers' }),
    call: async () => ({ status: 'error', output: 'This test has no MCP servers.' }),
    authorizations: {
      begin: async () => ({ type: 'failed', detail: 'this test has no MCP servers' }),
      finish: async () => ({ type: 'unknown' }),
      end: async () => ({ type: 'none' }),
      prepareRevocation: async () => async () => ({ type: 'none' }),
      statesOf: async (servers) => servers.map(() => ({ state: 'none' })),
    },
    forget: () => undefined,
    remove: async () => undefined,
    seal: (secrets, id) => plainBox.seal(JSON.stringify(secrets), id),
    secretsOf: ({ id, sealed }) => (sealed === undefined ? {} : JSON.parse(plainBox.open(sealed, id) ?? '{}')),
    close: async () => undefined,
  },
  endProcesses: async () => undefined,
})

type StubContextOptions = Pick<ServiceContext, 'deps' | 'snapshot' | 'defaults'> & Partial<ServiceContext>

/** A service context with these members; the stubs know no provider, embed nothing and reach no address. */
export const newStubContext = (options: StubContextOptions): ServiceContext => ({
  credentialAdmin: { box: plainBox, environment: () => [], startDeviceFlow: async () => ({ type: 'unsupported' }) },
  directory: {
    list: () => [],
    unaddressed: () => [],
    loginNames: () => [],
    listModels: async () => ({ type: 'models', models: [] }),
    factsOf: () => ({}),
    priceOf: () => undefined,
  },
  secretKeys: { box: plainBox, addKey: () => [], isCurrent: () => true, dropKeys: () => undefined },
  embeddings: {
    embedder: {
      serves: () => false,
      dimensionsOf: () => undefined,
      embed: async () => ({ type: 'vectors', vectors: [] }),
    },
    messages: false,
  },
  commits: { listen: () => () => undefined, takeovers: () => ({ 'worker-lost': 0, 'handed-back': 0 }) },
  shownSettings: [],
  checkConfiguration: () => Promise.resolve({ faults: [], changed: [] }),
  changeFeed: newChangeFeed({ ...options.deps, changes: options.deps.store.changes }),
  outbound: {
    addressFault: () => 'this test reaches no address',
    fetch: { public: noAnswer, configured: noAnswer },
  },
  workspaces: noWorkspaces,
  packages: noPackages,
  agentFiles: { erase: async () => 0, shared: async () => [], owners: async () => [] },
  backups: noBackups,
  importSources: () => {
    throw new Error('this test has no source of imports')
  },
  callbacks: newExpectedCallbacks(),
  hmac: hmacSha256,
  organizationId: COMMAND_LINE.organizationId,
  caller: COMMAND_LINE,
  limits: DEFAULT_LIMITS,
  turnOwners: newTurnOwners(),
  ...options,
})

/** For providers that need no key. */
export const noCredentials: Credentials = {
  choose: async () => ({ type: 'none' }),
  refresh: async () => ({ type: 'unchanged' }),
}

/** No encryption; a text that is sealed for one context cannot be opened for another. */
export const plainBox: SecretBox = {
  seal: (plain, context) => `${context} ${plain}`,
  open: (sealed, context) => (sealed.startsWith(`${context} `) ? sealed.slice(context.length + 1) : undefined),
}

const noAnswer = async (): Promise<Response> => {
  throw new Error('this test reaches no address')
}

const refusePackages = async () => {
  throw new Error('this test installs no packages')
}

export const noPackages: PythonPackages = { of: async () => undefined, add: refusePackages, remove: refusePackages }

const noBackups: Backups = {
  last: async () => undefined,
  write: async () => {
    throw new Error('this test has no backups')
  },
}

const noWorkspaces: Workspaces = {
  openEgress: async () => ({}),
  openPage: async () => {
    throw new Error('this test has no workspaces')
  },
  closePage: async () => false,
  open: async () => {
    throw new Error('this test has no workspaces')
  },
  find: async () => undefined,
  list: async () => [],
  peek: async () => undefined,
  inspect: async () => undefined,
  remove: async () => false,
  processWatches: { add: async () => undefined, list: async () => [], remove: async () => undefined },
  check: async () => ({ containment: 'local' }),
  countOf: async () => ({ workspaces: 0, awake: 0 }),
  close: async () => undefined,
}
