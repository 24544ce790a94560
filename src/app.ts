import { join } from 'node:path'
import { readLastBackup } from './backup/last-backup.ts'
import { composeGateway } from './compose-gateway.ts'
import { composeTelemetry } from './compose-telemetry.ts'
import { type Configuration, homeOf, readConfiguration, type Settings } from './config/configuration.ts'
import { openHome } from './config/home.ts'
import { realClock } from './config/real-clock.ts'
import { realRandomness as randomness } from './config/real-randomness.ts'
import { openSecretKeys } from './config/secret-key.ts'
import { hmacSha256, sha256 } from './config/sha256.ts'
import { configurationCheck, shownSettings } from './config/shown-settings.ts'
import { closeInOrder } from './core/close-in-order.ts'
import { defined } from './core/defined.ts'
import { errorText } from './core/error-text.ts'
import { type ConversationId, DEFAULT_ORGANIZATION } from './core/id.ts'
import { COMMAND_LINE } from './core/people.ts'
import { serverAddress } from './disk/server-file.ts'
import { startEngine } from './engine/engine.ts'
import type { EngineDeps } from './engine/engine-deps.ts'
import { newHistoryCache } from './engine/history-cache.ts'
import { newShares } from './engine/shares.ts'
import { IMPORT_LIMITS, newImportSources } from './http/import-sources.ts'
import type { JobDeps } from './jobs/job.ts'
import type { UnknownWorkspacesPolicy } from './jobs/remove-orphaned-workspaces.ts'
import { startJobs } from './jobs/start-jobs.ts'
import { newChangeFeed } from './live/change-feed.ts'
import { withCommitListeners } from './live/commit-listeners.ts'
import { newStreams } from './live/streams.ts'
import { newOutbound } from './net/outbound.ts'
import { isPublicAddress } from './net/public-address.ts'
import type { Backups, RestoreReport } from './ports/backups.ts'
import type { Clock } from './ports/clock.ts'
import type { Environment } from './ports/environment.ts'
import type { ModelProvider } from './ports/model.ts'
import type { Role } from './ports/role.ts'
import type { Store } from './ports/store.ts'
import type { Tool } from './ports/tool.ts'
import { oauthOverrides, strategiesOf } from './providers/credentials/configured-flows.ts'
import { newCredentialPool } from './providers/credentials/credential-pool.ts'
import { environmentSources } from './providers/credentials/environment-keys.ts'
import { newRefreshOnce } from './providers/credentials/refresh-once.ts'
import { newProviderDirectory } from './providers/directory.ts'
import { newEmbedder } from './providers/embeddings/embedder.ts'
import { modelsFrom } from './providers/models.ts'
import { newProviderSet } from './providers/provider-set.ts'
import { newFriendlyProvider } from './providers/scripted/friendly.ts'
import { findSecret, findSecrets } from './service/agents/agent-secrets.ts'
import { findPassages } from './service/memory/passages.ts'
import { newExpectedCallbacks } from './service/messages/expected-callbacks.ts'
import { findMessages } from './service/messages/messages.ts'
import { newTurnOwners } from './service/messages/turn-owners.ts'
import type { ServiceContext } from './service/service-context.ts'
import { endProcesses } from './service/workspaces/end-processes.ts'
import { workspaceTenant } from './service/workspaces/workspace-tenant.ts'
import { openDatabase } from './storage/open-database.ts'
import { agentFiles } from './tools/agent-files.ts'
import { builtinTools } from './tools/builtin/all.ts'
import { memoryTools } from './tools/builtin/memory/all.ts'
import { newPythonPackages, packagesFolder } from './tools/custom/python-packages.ts'
import { runCode } from './tools/custom/run-code.ts'
import type { SourceToolDeps } from './tools/custom/source-tool-deps.ts'
import { newSourceTools } from './tools/custom/source-tools.ts'
import { demoTools } from './tools/demo/all.ts'
import { fileSpill } from './tools/file-spill.ts'
import { newMcpClient } from './tools/mcp/mcp-client.ts'
import { toolRegistry, withoutReplaced } from './tools/registry.ts'
import { retiredTools } from './tools/retired/all.ts'
import { scheduleTools } from './tools/schedules/schedule-tools.ts'
import { webTools } from './tools/web/all.ts'
import { workspaceTools } from './tools/workspace/workspace-tools.ts'
import { freezeText, takeUntoldFreeze } from './watchdog/last-freeze.ts'
import { startWatchdog } from './watchdog/watchdog.ts'
import { lazyWorkspaces } from './workspaces/lazy-workspaces.ts'
import { lazyStdioPrograms } from './workspaces/programs/lazy-stdio-programs.ts'

export { homeOf }

export type App = {
  context: ServiceContext
  settings: Settings
  /** Why the last process of this home was ended by its watchdog; told once. */
  lastFreeze(): string | undefined
  close(): Promise<void>
}

type AppOptions = {
  environment: Environment
  role: Role
  /** In addition to the built-in ones; for tests and embedding. */
  providers?: Record<string, ModelProvider>
  tools?: Tool[]
  /** Whether a watchdog ends this process when its event loop stands still. */
  isWatched?: boolean
  /** Whether this process connects the configured accounts to their chat platforms: a server does. */
  hasGateway?: boolean
  /** The real clock unless a test sets another. */
  clock?: Clock
  /** Lets a test intercept the calls of the engine to its store. */
  wrapStore?(store: Store): Store
  report?(fault: unknown, where: string): void
}

/** The composition root: the only file that knows all rooms. */
export async function openApp({ environment, role, ...options }: AppOptions): Promise<App> {
  const configuration = await readConfiguration(environment)
  const { settings, general, providers: overrides } = configuration
  const home = openHome(settings.home, warn)
  const { clock = realClock, report = reportToStderr } = options
  const { store: opened, chunks, snapshot } = await openDatabase(settings, { home, clock, role })
  const { store, commits } = withCommitListeners(options.wrapStore?.(opened) ?? opened, clock)

  // After the migrations, which may hold the event loop for minutes, and before the first turn.
  const watchdog =
    options.isWatched && settings.watchdogSeconds > 0
      ? startWatchdog({ home, seconds: settings.watchdogSeconds, report })
      : undefined

  const set = newProviderSet(overrides, { environment, clock })
  const secrets = openSecretKeys(home)
  const pool = newCredentialPool({
    organizationId: DEFAULT_ORGANIZATION,
    store,
    box: secrets.box,
    clock,
    randomness,
    report,
    environment: environmentSources(environment, set.keyVariables, report),
    strategies: strategiesOf(overrides),
    flows: oauthOverrides(overrides),
  })
  const embeddings = {
    embedder: newEmbedder({ set, overrides, credentials: pool, clock }),
    ...embeddingDefaults(general),
  }
  const friendly = newFriendlyProvider({ clock, randomness })
  const { folder, toolSeconds, ...sandbox } = configuration.workspaces
  const programs = lazyStdioPrograms({ folder, home, clock, sandbox, isPublicAddress, report })
  const mcp = newMcpClient({
    servers: store.mcpServers,
    credentials: store.credentials,
    programs,
    clock,
    randomness,
    box: secrets.box,
    fetch: newOutbound(STREAMING_LIMITS).fetch,
    outbound: newOutbound({ maxBytes: 1024 * 1024 }),
    refreshOnce: (redeem) =>
      newRefreshOnce({ store: store.credentials, box: secrets.box, redeem, clock, randomness, report }),
  })
  const packages = newPythonPackages(home, { clock })
  const directory = newProviderDirectory(set, { overrides, environment })
  const shares = newShares({ store: store.shares, clock, limits: configuration.limits, priceOf: directory.priceOf })
  const workspaces = lazyWorkspaces(async () => {
    const { newWorkspaces } = await import('./workspaces/workspaces.ts')
    const packagesOf = async (id: ConversationId) => {
      const conversation = await store.conversations.getAnywhere(id)
      return conversation && packagesFolder(home, conversation.organizationId)
    }
    return newWorkspaces({
      folder,
      home,
      clock,
      sandbox,
      isPublicAddress,
      report,
      packagesOf,
      tenantOf: (id) => workspaceTenant(id, { store, shares }),
      box: secrets.box,
      ownAddress: () => serverAddress(home),
    })
  })
  const sourceDeps: SourceToolDeps = {
    workspaces,
    containment: sandbox.containment,
    clock,
    digest: sha256,
    packages,
    timeoutSeconds: toolSeconds,
    agentOf: store.agents.get,
    secretsOf: (...agent) => findSecrets(agent, { store, box: secrets.box }),
    blocksOf: store.prompts.blocks,
  }
  const deps: EngineDeps = {
    store,
    shares,
    streams: newStreams({ chunks, clock, report, keptMs: settings.streamsKeptMs }),
    historyCache: newHistoryCache({ limits: settings.cache, clock, events: { overfull: warnCacheOverfull } }),
    credentials: pool,
    models: modelsFrom({ ...set.providers, scripted: friendly, ...options.providers }),
    tools: toolRegistry(
      withoutReplaced(
        [
          ...builtinTools({ clock, randomness, home }),
          ...demoTools({ clock, randomness, home }),
          ...memoryTools({
            store,
            clock,
            randomness,
            findPassages: (question) => findPassages(question, { store, embeddings, shares }),
            findMessages: (question) => findMessages(question, { store, embeddings, shares }),
          }),
          ...webTools({
            fetchPage: newOutbound({ ...PAGE_LIMITS, allow: configuration.web.private_hosts }).fetch.public,
            fetchSearch: newOutbound(PAGE_LIMITS).fetch.configured,
            environment,
            search: defined({ engine: configuration.web.search, baseUrl: configuration.web.search_url }),
            secretOf: (...secret) => findSecret(secret, { store, box: secrets.box }),
          }),
          ...scheduleTools({
            store,
            clock,
            randomness,
            limits: configuration.ownSchedules,
            limitOf: async (id) => (await shares.limitsOf(id)).schedulesPerOrganization,
          }),
          ...workspaceTools({ workspaces, containment: sandbox.containment, clock, chats: store.gateway }),
          runCode(sourceDeps),
          ...retiredTools(),
        ],
        options.tools ?? [],
      ),
    ),
    mcp,
    sources: newSourceTools(sourceDeps),
    endProcesses: (id) => endProcesses(id, { workspaces, report }),
    spill: fileSpill(home),
    clock,
    randomness,
    digest: sha256,
    ...defined({ activity: watchdog }),
    report,
  }
  const { maxSteps, maxDurationMs, approvalTtlMs, maxRunningTurns } = settings
  const engine = role === 'owner' ? await startEngine(deps, { maxRunning: maxRunningTurns }) : undefined
  const telemetry = engine && (await composeTelemetry(configuration.telemetry, { deps, commits }))
  const context: ServiceContext = {
    deps,
    snapshot,
    commits,
    shownSettings: shownSettings(configuration),
    checkConfiguration: configurationCheck(environment, configuration),
    changeFeed: newChangeFeed({ changes: store.changes, clock, report }),
    credentialAdmin: pool,
    directory,
    secretKeys: secrets,
    embeddings,
    outbound: newOutbound({ keepBody: true }),
    workspaces,
    importSources: newImportSources(() => context, newOutbound(IMPORT_LIMITS)),
    packages,
    agentFiles: agentFiles(home),
    backups: backupsOf(() => context, { home, settings, workspacesFolder: folder }),
    callbacks: newExpectedCallbacks(),
    hmac: hmacSha256,
    defaults: {
      maxSteps,
      maxDurationMs,
      approvalTtlMs,
      approvalBy: general.approval_by,
      fallback: general.fallback,
      model: general.model,
      ...defined({
        compactionThreshold: general.compaction_threshold,
        heartbeatTurnsPerDay: configuration.heartbeatTurnsPerDay,
      }),
    },
    organizationId: DEFAULT_ORGANIZATION,
    caller: COMMAND_LINE,
    limits: configuration.limits,
    corsOrigins: configuration.corsOrigins,
    hosts: configuration.hosts,
    turnOwners: newTurnOwners(),
    ...defined({ engine, telemetry }),
  }
  const unknownWorkspaces = unknownWorkspacesPolicy(folder, { home, settings })
  const jobs = engine && startJobs({ context, unknownWorkspaces, webhookBody })
  const accounts = options.hasGateway ? configuration.gateway : {}
  const gateway = await composeGateway(accounts, { context, set, credentials: pool })
  return {
    context,
    settings,
    lastFreeze() {
      const freeze = takeUntoldFreeze(home)
      return freeze && freezeText(freeze)
    },
    close: () =>
      closeInOrder([
        // First: what it hands over is still carried out.
        () => gateway?.stop(),
        () => jobs?.stop(),
        () => engine?.stop(),
        () => telemetry?.stop(),
        workspaces.close,
        mcp.close,
        pool.flush,
        // Closing a large database takes a while.
        () => watchdog?.stop(),
        chunks.close,
        opened.close,
      ]),
  }
}

type BackupSources = { home: string; settings: Settings; workspacesFolder: string }

/** The code of backups is loaded with the first one. */
function backupsOf(contextOf: () => ServiceContext, { home, settings, workspacesFolder }: BackupSources): Backups {
  return {
    last: () => readLastBackup(home),
    async write(request) {
      const { backUpHome } = await import('./backup/back-up-home.ts')
      const { checkBackup } = await import('./service/store/check-backup.ts')
      const check = (folder: string) =>
        withCopy({ HOLDFAST_HOME: folder }, (context) => checkBackup(context, { isCopy: true }))
      return backUpHome(request, {
        home,
        workspacesFolder,
        clock: contextOf().deps.clock,
        migrations: await newestMigration(),
        database: settings.databaseUrl
          ? { type: 'postgres', check: () => checkBackup(contextOf(), { isCopy: false }) }
          : { type: 'sqlite', copyTo: (folder) => copyDatabaseOf(home, folder), check },
      })
    },
  }
}

async function copyDatabaseOf(home: string, folder: string): Promise<void> {
  const { copyDatabase } = await import('./storage/copy-database.ts')
  await copyDatabase(join(home, 'holdfast.db'), join(folder, 'holdfast.db'))
}

/** Restores a backup onto the empty home of this environment. */
export async function restoreBackup(file: string, environment: Environment): Promise<RestoreReport> {
  const { restoreHome } = await import('./backup/restore-home.ts')
  const { checkRestored } = await import('./service/store/check-backup.ts')
  const databaseUrl = environment.DATABASE_URL?.trim()
  return restoreHome(file, {
    home: homeOf(environment),
    migrations: await newestMigration(),
    database: databaseUrl ? 'postgres' : 'sqlite',
    check: (folder) =>
      withCopy({ HOLDFAST_HOME: folder, ...defined({ DATABASE_URL: databaseUrl || undefined }) }, checkRestored),
  })
}

async function newestMigration(): Promise<number> {
  const { MIGRATIONS } = await import('./storage/migrations/all.ts')
  return MIGRATIONS.store.at(-1)!.number
}

/** Owns the database for the length of the work, and so brings one of an older version up to date; runs no turns. */
async function withCopy<T>(environment: Environment, work: (context: ServiceContext) => Promise<T>): Promise<T> {
  const app = await openApp({ environment, role: 'maintenance' })
  try {
    return await work(app.context)
  } finally {
    await app.close()
  }
}

/** No timeouts for event streams: the MCP client has its own limits of time and size. */
const STREAMING_LIMITS = { headersTimeoutMs: 0, idleTimeoutMs: 0, maxBytes: Number.POSITIVE_INFINITY }

/** Pages of the public web, plain HTTP included, up to five megabytes after decompression. */
const PAGE_LIMITS = { plainHttp: true, maxBytes: 5 * 1024 * 1024, headersTimeoutMs: 30_000, idleTimeoutMs: 15_000 }

function embeddingDefaults({ embedding: defaultModel, embed_messages: messages }: Configuration['general']) {
  // Messages are sent to an embedding model only if the operator has configured one; an agent's model embeds passages.
  return defaultModel ? { defaultModel, messages } : { messages: false }
}

/** Webhooks use the wire format of the API, which is loaded with the first one. */
const webhookBody: JobDeps['webhookBody'] = async (delivery, story) => {
  const wire = await import('./http/holdfast/wire/webhook-body.ts')
  return wire.webhookBody(delivery, story)
}

/** A database in the home knows every workspace of the home. Another database or folder may be shared with others. */
function unknownWorkspacesPolicy(
  folder: string,
  { home, settings }: { home: string; settings: Settings },
): UnknownWorkspacesPolicy {
  if (folder !== join(home, 'workspaces')) return 'keep'
  return settings.databaseUrl ? 'remove-if-others-are-known' : 'remove'
}

/** A warning only: the cache shrinks when those turns end. */
const warnCacheOverfull = (active: readonly string[]): void =>
  warn(`the conversation cache is over its limit until these turns end: ${active.join(', ')}`)

function warn(sentence: string): void {
  process.stderr.write(`holdfast: warning: ${sentence}\n`)
}

function reportToStderr(fault: unknown, where: string): void {
  const text = errorText(fault)
  process.stderr.write(`holdfast: error while ${where}: ${text}\n`)
}
