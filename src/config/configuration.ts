import { existsSync, readFileSync } from 'node:fs'
import { totalmem } from 'node:os'
import { join } from 'node:path'
import { defined } from '../core/defined.ts'
import type { Durability } from '../core/durability.ts'
import type { AccountSettings } from '../core/gateway/settings.ts'
import type { Limits } from '../core/limits.ts'
import type { OwnScheduleLimits } from '../core/own-schedules.ts'
import { Problem } from '../core/problem.ts'
import type { Environment } from '../ports/environment.ts'
import type { Containment, WorkspaceQuota } from '../ports/workspaces.ts'
import type { Assignment } from './check-variables.ts'
import type { ConfigFile, ProviderSettings } from './config-schema.ts'
import { gatewayAccounts } from './gateway-settings.ts'
import { homePath } from './home.ts'
import { SCHEDULES } from './schedule-settings.ts'
import { type SectionInput, type SectionValues, withDefaults } from './setting.ts'
import { GENERAL, LIMITS, PROCESS, SERVER, WORKSPACES } from './settings.ts'
import { TELEMETRY } from './telemetry-settings.ts'
import { variablesIn } from './variables.ts'
import { WEB } from './web-settings.ts'

/** All settings, validated, with defaults for those that the operator has not set. */
export type Configuration = {
  settings: Settings
  general: SectionValues<typeof GENERAL>
  providers: Record<string, ProviderSettings>
  /** Origins of web pages that may call the server. */
  corsOrigins: readonly string[]
  hosts: readonly string[]
  limits: Limits
  workspaces: WorkspaceSettings
  web: SectionValues<typeof WEB>
  heartbeatTurnsPerDay: number
  /** Of the schedules that agents make. */
  ownSchedules: OwnScheduleLimits
  telemetry: SectionValues<typeof TELEMETRY>
  /** Chat platforms, by the name of the account. */
  gateway: Record<string, AccountSettings>
}

/** The settings of this process. */
export type Settings = {
  home: string
  durability: Durability
  /** PostgreSQL; absent means SQLite in the home. */
  databaseUrl?: string
  maxRunningTurns: number
  /** How long the event loop of a server may stand still; 0 means for ever. */
  watchdogSeconds: number
  maxSteps: number
  maxDurationMs: number
  approvalTtlMs: number
  /** How long the stream of a run can be read after its end. Messages are kept. */
  streamsKeptMs: number
  /** Limits of the history cache between turns; with 0 entries each turn reads its history again. */
  cache: { entries: number; bytes: number; idleMs: number }
}

type WorkspaceSettings = {
  /** The folder of all workspaces. */
  folder: string
  containment: Containment
  quota: WorkspaceQuota
  /** Domains that commands may reach; empty means no network. */
  egress: readonly string[]
  /** How long one call of a tool from source may run. */
  toolSeconds: number
}

type ConfiguredValues = ConfigFile & { process?: SectionInput<typeof PROCESS> }

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
const MEGABYTE = 1024 * 1024

/** Each setting from the environment, else from config.yaml, else its default. All faults are reported at once. */
export async function readConfiguration(environment: Environment): Promise<Configuration> {
  const home = homeOf(environment)
  const file = join(home, 'config.yaml')
  const { config, faults: fileFaults } = await fromFile(file)
  const { assignments, faults: variableFaults } = await fromEnvironment(environment, config)
  const unusable = [
    ...(fileFaults.length > 0 ? [`${file} cannot be used.`] : []),
    ...(variableFaults.length > 0 ? ['The environment has settings that cannot be used.'] : []),
  ]
  const faults = [...fileFaults, ...variableFaults]
  if (faults.length > 0) throw new Problem('invalid', [unusable.join(' '), ...faults].join('\n  '), { faults })
  return configurationOf(home, assignments.reduce(assign, config), environment)
}

export const homeOf = (environment: Environment): string => homePath(environment.HOLDFAST_HOME?.trim())

// The YAML parser and zod are loaded only if there is something to check: they are a third of a cold start.

async function fromFile(file: string): Promise<{ config: ConfiguredValues; faults: string[] }> {
  if (!existsSync(file)) return { config: {}, faults: [] }
  const { parseConfigFile } = await import('./config-file.ts')
  return parseConfigFile(readFileSync(file, 'utf8'))
}

async function fromEnvironment(environment: Environment, { providers = {} }: ConfigFile) {
  const variables = variablesIn(environment, Object.keys(providers))
  if (variables.length === 0) return { assignments: [], faults: [] }
  const { checkVariables } = await import('./check-variables.ts')
  return checkVariables(variables)
}

function assign<T extends object>(values: T, { path: [key, ...rest], value }: Assignment): T {
  if (key === undefined) return values
  const present = (values as Record<string, object | undefined>)[key]
  return { ...values, [key]: rest.length === 0 ? value : assign(present ?? {}, { path: rest, value }) }
}

function configurationOf(
  home: string,
  { process, providers, server, limits, workspaces, web, schedules, telemetry, gateway, ...general }: ConfiguredValues,
  environment: Environment,
): Configuration {
  const scheduling = withDefaults(SCHEDULES, schedules ?? {})
  return {
    settings: settingsOf(home, withDefaults(PROCESS, process ?? {})),
    general: withDefaults(GENERAL, general),
    providers: providers ?? {},
    corsOrigins: withDefaults(SERVER, server ?? {}).cors_origins.map((origin) => new URL(origin).origin),
    hosts: withDefaults(SERVER, server ?? {}).hosts,
    limits: limitsOf(withDefaults(LIMITS, limits ?? {})),
    workspaces: workspacesOf(home, withDefaults(WORKSPACES, workspaces ?? {})),
    web: withDefaults(WEB, web ?? {}),
    telemetry: withDefaults(TELEMETRY, telemetry ?? {}),
    heartbeatTurnsPerDay: scheduling.heartbeat_turns_per_day,
    ownSchedules: {
      count: scheduling.per_agent,
      shortestMs: MINUTE_MS * scheduling.agent_shortest_minutes,
      horizonMs: DAY_MS * scheduling.agent_horizon_days,
      approval: scheduling.agent_approval,
    },
    gateway: gatewayAccounts({ accounts: gateway ?? {}, toolsets: general.toolsets ?? {}, environment }),
  }
}

function settingsOf(home: string, values: SectionValues<typeof PROCESS>): Settings {
  return {
    home,
    durability: values.durability,
    ...defined({ databaseUrl: values.database_url || undefined }),
    maxRunningTurns: values.max_running_turns,
    watchdogSeconds: values.watchdog_seconds,
    maxSteps: values.max_steps,
    maxDurationMs: MINUTE_MS * values.max_run_minutes,
    approvalTtlMs: DAY_MS * values.approval_days,
    streamsKeptMs: DAY_MS * values.stream_days,
    cache: {
      entries: values.cache_entries,
      bytes: values.cache_mb === undefined ? shareOfMemory() : MEGABYTE * values.cache_mb,
      idleMs: MINUTE_MS * values.cache_idle_minutes,
    },
  }
}

/** A tenth of the memory of the machine, or of the memory limit of this process. */
const shareOfMemory = (): number => Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY) / 10

const limitsOf = (values: SectionValues<typeof LIMITS>): Limits => ({
  bodyBytes: values.body_bytes,
  jsonDepth: values.json_depth,
  jsonValues: values.json_values,
  connections: values.connections,
  headersMs: values.headers_ms,
  requestMs: values.request_ms,
  stalledAnswerMs: values.stalled_answer_ms,
  bytesInFlight: values.bytes_in_flight,
  refusalsPerMinute: values.refusals_per_minute,
  requestsPerSecond: values.requests_per_second,
  bytesInFlightPerKey: values.bytes_in_flight_per_key,
  openRequestsPerKey: values.open_requests_per_key,
  turnsPerKey: values.turns_per_key,
  turnsPerAgent: values.turns_per_agent,
  queuedTurnsPerKey: values.queued_turns_per_key,
  streamsPerKey: values.streams_per_key,
  dollarsPerDayPerKey: values.dollars_per_day_per_key,
  turnsPerOrganization: values.turns_per_organization,
  queuedTurnsPerOrganization: values.queued_turns_per_organization,
  requestsPerSecondPerOrganization: values.requests_per_second_per_organization,
  openRequestsPerOrganization: values.open_requests_per_organization,
  streamsPerOrganization: values.streams_per_organization,
  workspacesPerOrganization: values.workspaces_per_organization,
  awakeWorkspacesPerOrganization: values.awake_workspaces_per_organization,
  processesPerOrganization: values.processes_per_organization,
  schedulesPerOrganization: values.schedules_per_organization,
  storedBytesPerOrganization: values.stored_bytes_per_organization,
  dollarsPerDayPerOrganization: values.dollars_per_day_per_organization,
  tokensPerDayPerOrganization: values.tokens_per_day_per_organization,
})

const workspacesOf = (home: string, values: SectionValues<typeof WORKSPACES>): WorkspaceSettings => ({
  folder: values.folder === undefined ? join(home, 'workspaces') : homePath(values.folder),
  containment: values.sandbox,
  quota: {
    diskBytes: MEGABYTE * values.disk_mb,
    memoryBytes: MEGABYTE * values.memory_mb,
    processes: values.processes,
  },
  egress: values.egress,
  toolSeconds: values.tool_seconds,
})
