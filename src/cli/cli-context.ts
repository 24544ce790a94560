import type { PlatformName } from '../core/gateway/platforms.ts'
import type { RestoreReport } from '../ports/backups.ts'
import type { Environment } from '../ports/environment.ts'
import type { Role } from '../ports/role.ts'
import { StorageError } from '../ports/storage-error.ts'
import type { InProcessOptions, InProcessServer, ServeOptions } from '../service/serve-options.ts'
import type { ServiceContext } from '../service/service-context.ts'
import type { Screen } from './terminal.ts'

export type OpenedApp = {
  context: ServiceContext
  settings: { home: string }
  lastFreeze(): string | undefined
  close(): Promise<void>
}

/** The composition root as the CLI sees it. */
type OpenApp = (options: {
  environment: Environment
  role: Role
  isWatched?: boolean
  hasGateway?: boolean
}) => Promise<OpenedApp>

/** A request to the simulator, with the fields that the CLI prints. */
export type SimulatedRequest = {
  number: number
  method: string
  path: string
  protocol: string
  model: string
  key: string | undefined
  body: unknown
  arrivedAt: number
  status?: number
  ended?: { at: number; how: string }
}

/** The provider simulator as the CLI sees it: `source` is the text of a script. */
export type Simulate = (options: {
  port: number
  source?: string
  keys: Record<string, string>
  onEnded(request: SimulatedRequest): void
}) => Promise<
  | { type: 'serving'; url: string; rules: number; close(): Promise<void> }
  | { type: 'refused'; because: 'script' | 'keys' | 'port'; reasons: string[] }
>

/** The simulated chat platform as the CLI sees it: a person who writes to a bot. */
export type SimulateChat = (options: {
  platform: PlatformName
  port: number
  onMessage(message: SimulatedChatMessage): void
}) => Promise<
  | {
      type: 'serving'
      /** For a browser. */
      page: string
      /** The environment of a server that uses it. */
      variables: Readonly<Record<string, string>>
      say(text: string): void
      close(): Promise<void>
    }
  | { type: 'refused'; because: 'port'; reasons: string[] }
>

/** Checks the account at its platform and writes it into config.yaml; `values` are its settings there. */
export type AddChatAccount = (
  account: { name: string; values: Readonly<Record<string, string>> },
  environment: Environment,
) => Promise<{ type: 'added'; file: string; bot: string } | { type: 'refused'; reason: string }>

/** A message of a bot, as it is now: placeholders and progress are edited. */
export type SimulatedChatMessage = { id: string; text: string; buttons: readonly string[] }

/** The server as the CLI sees it. */
export type ServerHandle = {
  url: string
  key: { key: string; file?: string; isNew: boolean }
  /** Stops accepting requests. */
  drain(): void
  /** The path of a one-time link that signs a browser in; undefined on a public address. */
  signInLink(): string | undefined
  close(): Promise<void>
}

export type Serve = (options: ServeOptions) => Promise<ServerHandle>

/** The operations of the server in this process, for a home that no server owns. */
export type InProcess = (options: InProcessOptions) => Promise<InProcessServer>
/** Restores a backup onto the empty home of this environment. */
type Restore = (file: string, environment: Environment) => Promise<RestoreReport>

/** Passed to every command. `out` (stdout) takes the result, `notes` (stderr) everything about it. */
export type CliContext = {
  openApp: OpenApp
  homeOf(environment: Environment): string
  simulate: Simulate
  simulateChat: SimulateChat
  addChatAccount: AddChatAccount
  serve: Serve
  inProcess: InProcess
  restore: Restore
  environment: Environment
  version: string
  out: Screen
  notes: Screen
}

/** Opens the app for the length of one piece of work. */
export async function withApp<T>(
  cli: Pick<CliContext, 'openApp' | 'environment'>,
  role: Role,
  work: (app: OpenedApp) => Promise<T>,
): Promise<T> {
  const app = await (role === 'guest' ? openGuest(cli) : cli.openApp({ environment: cli.environment, role }))
  try {
    return await work(app)
  } finally {
    await app.close()
  }
}

/** A guest cannot open a home that does not exist yet, so the home is created first. */
async function openGuest({ openApp, environment }: Pick<CliContext, 'openApp' | 'environment'>): Promise<OpenedApp> {
  try {
    return await openApp({ environment, role: 'guest' })
  } catch (fault) {
    if (!(fault instanceof StorageError) || fault.fault !== 'unreachable') throw fault
    return openOwner(fault)
  }

  async function openOwner(guestFault: StorageError): Promise<OpenedApp> {
    try {
      return await openApp({ environment, role: 'owner' })
    } catch (fault) {
      // The home exists and has an owner, so the first error is the real one: most likely an older server.
      throw fault instanceof StorageError && fault.fault === 'owned' ? guestFault : fault
    }
  }
}

export const printJson = (screen: Screen, value: unknown): void => screen.line(JSON.stringify(value, null, 2))
