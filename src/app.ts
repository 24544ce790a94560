import { type ConfigFile, readConfigFile } from './config/config-file.ts'
import { openHome } from './config/home.ts'
import { realClock } from './config/real-clock.ts'
import { realRandomness } from './config/real-randomness.ts'
import { openSecretKeys } from './config/secret-key.ts'
import { type Environment, readSettings, type Settings } from './config/settings.ts'
import { sha256 } from './config/sha256.ts'
import { DEFAULT_ORGANIZATION } from './core/id.ts'
import { startEngine } from './engine/engine.ts'
import type { World } from './engine/world.ts'
import { newStreams } from './live/streams.ts'
import type { Clock } from './ports/clock.ts'
import type { ModelProvider } from './ports/model.ts'
import type { Store } from './ports/store.ts'
import type { Tool } from './ports/tool.ts'
import { newCredentialPool } from './providers/credentials/credential-pool.ts'
import { environmentSources } from './providers/credentials/environment-keys.ts'
import type { FlowOverrides } from './providers/credentials/oauth-flows.ts'
import { providerDirectory } from './providers/directory.ts'
import { modelsFrom } from './providers/models.ts'
import { providerSet } from './providers/provider-set.ts'
import { friendlyProvider } from './providers/scripted/friendly.ts'
import type { Desk } from './service/desk.ts'
import { tellEvents } from './service/tell-events.ts'
import { builtinTools } from './tools/builtin/all.ts'
import { memoryTools } from './tools/builtin/memory/all.ts'
import { fileSpill } from './tools/file-spill.ts'
import { toolRegistry } from './tools/registry.ts'

export type App = { desk: Desk; settings: Settings; close(): Promise<void> }

/**
 * `owner` runs turns; `guest` reads, cancels and answers approvals beside an owner; `caretaker` owns the home and lets
 * nothing run in it.
 */
export type Role = 'owner' | 'guest' | 'caretaker'

export type AppOptions = {
  environment: Environment
  role: Role
  /** Beside the builtin ones; for tests and embedding. */
  providers?: Record<string, ModelProvider>
  tools?: Tool[]
  /** Lets a test stand between the engine and its store. */
  wrapStore?(store: Store): Store
  report?(fault: unknown, where: string): void
}

/** Puts the rooms together: the only place that knows them all. */
export async function openApp({ environment, role, ...options }: AppOptions): Promise<App> {
  const settings = readSettings(environment)
  const home = openHome(settings.home)
  const clock = realClock
  const randomness = realRandomness
  const report = options.report ?? reportToStderr
  const { store: opened, chunks, snapshot } = await openDatabase(settings, { home, clock, role })
  const { store, hearing } = tellEvents(options.wrapStore?.(opened) ?? opened)

  const config = readConfigFile(home)
  const set = providerSet(config.providers, { environment, clock })
  const secrets = openSecretKeys(home)
  const pool = newCredentialPool({
    ...{ organizationId: DEFAULT_ORGANIZATION, store, box: secrets.box, clock, randomness, report },
    environment: environmentSources(environment, set.keyVariables, report),
    strategies: strategiesOf(config),
    flows: flowsOf(config),
  })
  const friendly = friendlyProvider({ clock, randomness })
  const world: World = {
    store,
    streams: newStreams({ chunks, clock, report }),
    credentials: pool,
    models: modelsFrom({ ...set.providers, scripted: friendly, ...options.providers }),
    tools: toolRegistry([
      ...builtinTools({ clock, randomness, home }),
      ...memoryTools({ store, clock, randomness }),
      ...(options.tools ?? []),
    ]),
    spill: fileSpill(home),
    clock,
    randomness,
    digest: sha256,
    report,
  }
  const { maxSteps, maxDurationMs, approvalTtlMs, maxRunningTurns } = settings
  const engine = role === 'owner' ? await startEngine(world, { maxRunning: maxRunningTurns }) : undefined
  const desk: Desk = {
    world,
    snapshot,
    hearing,
    care: pool,
    directory: providerDirectory(set, { wishes: config.providers, environment }),
    secretKeys: secrets,
    defaults: {
      ...{ maxSteps, maxDurationMs, approvalTtlMs, fallback: config.fallback },
      ...(config.model ? { model: config.model } : {}),
    },
    organizationId: DEFAULT_ORGANIZATION,
    ...(engine ? { engine } : {}),
  }
  return {
    desk,
    settings,
    async close() {
      await engine?.stop()
      await pool.flush()
      await chunks.close()
      await opened.close()
    },
  }
}

const strategiesOf = ({ providers }: ConfigFile) =>
  Object.fromEntries(Object.entries(providers).flatMap(([name, { strategy }]) => (strategy ? [[name, strategy]] : [])))

function flowsOf({ providers }: ConfigFile): FlowOverrides {
  return Object.fromEntries(
    Object.entries(providers).flatMap(([name, { oauth }]) => {
      if (!oauth) return []
      const { token_url: tokenUrl, client_id: clientId, account_url: accountUrl, exchange_url: exchangeUrl } = oauth
      const { scope, device_code_url: codeUrl } = oauth
      const device = codeUrl ? { type: 'standard', codeUrl } : undefined
      const said = Object.entries({ tokenUrl, clientId, accountUrl, exchangeUrl, scope, device })
      return [[name, Object.fromEntries(said.filter(([, value]) => value))]]
    }),
  )
}

/** The database of the settings; PostgreSQL is loaded only where it is used. */
async function openDatabase(
  { databaseUrl, durability }: Settings,
  { home, clock, role }: { home: string; clock: Clock; role: Role },
) {
  if (databaseUrl) {
    const { openPostgresStore } = await import('./storage/postgres.ts')
    return openPostgresStore({ url: databaseUrl, clock, durability })
  }
  const { openSqliteStore } = await import('./storage/sqlite.ts')
  return openSqliteStore({ home, clock, durability, role: role === 'guest' ? 'guest' : 'owner' })
}

function reportToStderr(fault: unknown, where: string): void {
  const text = fault instanceof Error ? fault.message : String(fault)
  process.stderr.write(`holdfast: ${where}: ${text}\n`)
}
