import { APPROVERS } from '../core/approval.ts'
import { DEFAULT_THRESHOLD, THRESHOLD_RANGE } from '../core/context-window.ts'
import { POOL_STRATEGIES } from '../core/credential.ts'
import { DURABILITIES } from '../core/durability.ts'
import { DEFAULT_LIMITS } from '../core/limits.ts'
import { DEFAULT_HOST, DEFAULT_PORT } from '../core/listening.ts'
import { DIALECTS } from '../core/message.ts'
import { DEFAULT_MODEL } from '../core/target.ts'
import { CONTAINMENTS } from '../ports/workspaces.ts'
import { TOOLSETS } from './gateway-settings.ts'
import { setting } from './setting.ts'
import {
  absolutePath,
  anyText,
  domain,
  headerText,
  hostName,
  httpUrl,
  listOf,
  mapOf,
  modelHandle,
  numberBetween,
  numberUpTo,
  oneOf,
  origin,
  postgresUrl,
  trueOrFalse,
  wholeNumber,
} from './setting-kinds.ts'

/* All settings. The types, the validation, the JSON Schema, the names of the environment variables and the tables
 * of docs/configuration.md are derived from these records; `npm run docs` writes the tables. */

/** Environment only. The command line reads these before the rest of the configuration, or without it. */
export const COMMAND_LINE = {
  home: setting(anyText, {
    description: 'The folder for everything that must survive a restart',
    defaultText: '`~/.holdfast`',
  }),
  api_key: setting(anyText, {
    description: 'The API key of the server; a public address needs 32 characters or more',
    defaultText: 'created at the first start and stored in `api-key` in the home',
  }),
  host: setting(anyText, {
    variable: 'HOST',
    description: 'The address the server listens on; `--host` wins',
    default: DEFAULT_HOST,
  }),
  port: setting(wholeNumber(0, 65_535), {
    variable: 'PORT',
    description: 'The port the server listens on, 0 for any free one; `--port` wins',
    default: DEFAULT_PORT,
  }),
  debug: setting(oneOf(['1']), { description: '`1` prints stack traces of internal errors' }),
}

const A_WEEK_IN_MINUTES = 7 * 24 * 60

/** Environment only: settings that may differ between the processes of one installation. */
export const PROCESS = {
  database_url: setting(postgresUrl, {
    variable: 'DATABASE_URL',
    description: 'The PostgreSQL database',
    defaultText: 'SQLite in the home',
  }),
  durability: setting(oneOf(DURABILITIES), {
    description: 'Whether commits survive a power cut (`strict`) or only the death of the process (`relaxed`)',
    default: 'strict',
  }),
  max_running_turns: setting(wholeNumber(1, 10_000), {
    description: 'Turns that run at once in one process',
    default: 64,
  }),
  watchdog_seconds: setting(wholeNumber(0, 3_600), {
    description:
      'How long the event loop of `serve` may stand still before a watchdog ends the process; 0 turns the watchdog off',
    unit: 'seconds',
    default: 30,
  }),
  max_steps: setting(wholeNumber(1, 10_000), { description: 'Model answers in one run', default: 50 }),
  max_run_minutes: setting(numberUpTo(A_WEEK_IN_MINUTES), {
    description: 'Working time of one run',
    unit: 'minutes',
    default: 60,
  }),
  approval_days: setting(numberUpTo(366), {
    description: 'How long an approval request stays open',
    unit: 'days',
    default: 7,
  }),
  stream_days: setting(numberUpTo(3660), {
    description: 'How long the stream of a run can be read again after its end; its messages stay',
    unit: 'days',
    default: 7,
  }),
  cache_entries: setting(wholeNumber(0, 1_000_000), {
    description: 'Conversations cached in memory between their turns; 0 turns the cache off',
    default: 128,
  }),
  cache_mb: setting(numberUpTo(1_000_000), {
    description: 'The memory limit of that cache',
    unit: 'MB',
    defaultText: 'a tenth of the memory available to the process',
  }),
  cache_idle_minutes: setting(numberUpTo(A_WEEK_IN_MINUTES), {
    description: 'How long a conversation without a turn stays cached',
    unit: 'minutes',
    default: 60,
  }),
}

/** The top level of config.yaml. */
export const GENERAL = {
  model: setting(modelHandle, {
    description: 'The model of agents that do not name one',
    default: DEFAULT_MODEL,
  }),
  fallback: setting(listOf(modelHandle), {
    description: 'The fallback (failover) chain of agents without their own',
    default: [],
    defaultText: 'no fallback',
  }),
  compaction_threshold: setting(numberBetween(THRESHOLD_RANGE), {
    description:
      'The share of the context window that a conversation may fill before it is compacted. ' +
      'An agent can have its own in `compaction_settings.threshold`',
    defaultText: `\`${DEFAULT_THRESHOLD}\``,
  }),
  approval_by: setting(oneOf(APPROVERS), {
    description:
      'Who may approve a call that waits: any key with the scope `approve`, or only another one than the key (or user) ' +
      'that sent the messages of the turn',
    default: 'any-key',
  }),
  toolsets: TOOLSETS,
  embedding: setting(modelHandle, {
    description: 'The embedding model of agents that do not name one',
    defaultText: 'none: search by words only',
  }),
  embed_messages: setting(trueOrFalse, {
    description:
      'Whether messages are embedded too, and not only passages; needs `embedding`. ' +
      'Each message takes about 2 KB of the database',
    default: true,
  }),
}

const A_DAY_IN_MS = 86_400_000

/** `providers.<name>` of config.yaml. */
export const PROVIDER = {
  base_url: setting(httpUrl, { description: 'The base URL of the API', defaultText: "the vendor's address" }),
  dialect: setting(oneOf(DIALECTS), {
    description: 'The protocol of the server',
    defaultText: "the vendor's; `openai-chat` for your own server",
  }),
  timeout_ms: setting(wholeNumber(1, A_DAY_IN_MS), {
    description: 'How long the first byte of an answer may take',
    unit: 'ms',
    defaultText: '120 s, and up to twice that for long prompts',
  }),
  stall_timeout_ms: setting(wholeNumber(1, A_DAY_IN_MS), {
    description: 'How long an answer may pause between bytes',
    unit: 'ms',
    defaultText: '60 s, and up to twice that for long prompts',
  }),
  strategy: setting(oneOf(POOL_STRATEGIES), {
    description: 'How the pool chooses a credential',
    defaultText: '`fill_first`',
  }),
  headers: setting(mapOf(headerText), { description: 'Headers sent with every request' }),
  windows: setting(mapOf(wholeNumber(1)), {
    description: 'Context windows by model',
    unit: 'tokens',
    defaultText: 'the built-in table, or the limit in a provider error about a request that was too long',
  }),
  aggregator: setting(trueOrFalse, {
    description: '`true`: the provider pools and retries itself, so failover does not renew its connections first',
    defaultText: '`true` for OpenRouter and Nous',
  }),
}

const VENDOR_DEFAULT = "the vendor's"

/** `providers.<name>.oauth` of config.yaml. */
export const OAUTH = {
  token_url: setting(anyText, {
    description: 'The token endpoint, for new tokens and refreshes',
    defaultText: VENDOR_DEFAULT,
  }),
  device_code_url: setting(anyText, {
    description: 'The device authorization endpoint (RFC 8628)',
    defaultText: VENDOR_DEFAULT,
  }),
  exchange_url: setting(anyText, {
    description: 'The endpoint that exchanges a long-lived token for a short-lived one (Copilot)',
    defaultText: VENDOR_DEFAULT,
  }),
  account_url: setting(anyText, {
    description: 'The endpoint that reports whether the account is paid up (Nous)',
    defaultText: VENDOR_DEFAULT,
  }),
  client_id: setting(anyText, { description: 'The OAuth client id', defaultText: VENDOR_DEFAULT }),
  scope: setting(anyText, { description: 'The requested OAuth scope', defaultText: VENDOR_DEFAULT }),
}

/** `server` of config.yaml. */
export const SERVER = {
  cors_origins: setting(listOf(origin), {
    variable: 'HOLDFAST_CORS_ORIGINS',
    description: 'Origins of web pages that may call the server from a browser, with a key (CORS)',
    default: [],
    defaultText: 'none: only pages of the server itself',
  }),
  hosts: setting(listOf(hostName), {
    variable: 'HOLDFAST_HOSTS',
    description:
      'Names by which clients and proxies call the server, besides localhost; others are refused (DNS rebinding)',
    default: [],
    defaultText: 'on loopback none, on other addresses any name',
  }),
}

const A_TERABYTE_IN_MB = 1_048_576

/** `limits` of config.yaml. */
export const LIMITS = {
  body_bytes: setting(wholeNumber(1_024, 1_073_741_824), {
    description: 'The size of a request body',
    unit: 'bytes',
    default: DEFAULT_LIMITS.bodyBytes,
  }),
  json_depth: setting(wholeNumber(4, 1_000), {
    description: 'Levels of nesting in a JSON body',
    default: DEFAULT_LIMITS.jsonDepth,
  }),
  json_values: setting(wholeNumber(100, 100_000_000), {
    description: 'Values in the lists and objects of a JSON body',
    default: DEFAULT_LIMITS.jsonValues,
  }),
  connections: setting(wholeNumber(1, 1_000_000), {
    description: 'Connections at once',
    default: DEFAULT_LIMITS.connections,
  }),
  headers_ms: setting(wholeNumber(100, 600_000), {
    description: 'How long the headers of a request may take to arrive',
    unit: 'ms',
    default: DEFAULT_LIMITS.headersMs,
  }),
  request_ms: setting(wholeNumber(100, 3_600_000), {
    description: 'How long a whole request may take to arrive',
    unit: 'ms',
    default: DEFAULT_LIMITS.requestMs,
  }),
  stalled_answer_ms: setting(wholeNumber(100, 600_000), {
    description: 'How long the reader of an answer may take nothing before it is disconnected',
    unit: 'ms',
    default: DEFAULT_LIMITS.stalledAnswerMs,
  }),
  bytes_in_flight: setting(wholeNumber(1_048_576, 1_099_511_627_776), {
    description: 'Requests and unread answers in memory, of all keys; one organization may have half of it',
    unit: 'bytes',
    default: DEFAULT_LIMITS.bytesInFlight,
  }),
  refusals_per_minute: setting(wholeNumber(1, 1_000_000), {
    description: 'Requests without a valid key from one address',
    default: DEFAULT_LIMITS.refusalsPerMinute,
  }),
  requests_per_second: setting(wholeNumber(0, 1_000_000), {
    description: 'Requests per key, on average; 0 for no limit',
    default: DEFAULT_LIMITS.requestsPerSecond,
  }),
  bytes_in_flight_per_key: setting(wholeNumber(1_024, 1_099_511_627_776), {
    description: 'Requests and unread answers in memory, per key',
    unit: 'bytes',
    default: DEFAULT_LIMITS.bytesInFlightPerKey,
  }),
  open_requests_per_key: setting(wholeNumber(0, 1_000_000), {
    description: 'Open requests and streams per key; 0 for no limit',
    default: DEFAULT_LIMITS.openRequestsPerKey,
  }),
  turns_per_key: setting(wholeNumber(0, 10_000), {
    description: 'Running turns per key; 0 for no limit',
    default: DEFAULT_LIMITS.turnsPerKey,
  }),
  turns_per_agent: setting(wholeNumber(0, 10_000), {
    description: 'Running turns per agent that keys have started; 0 for no limit',
    default: DEFAULT_LIMITS.turnsPerAgent,
  }),
  queued_turns_per_key: setting(wholeNumber(0, 1_000_000), {
    description: 'Turns of a key that wait to run; 0 for no limit',
    default: DEFAULT_LIMITS.queuedTurnsPerKey,
  }),
  streams_per_key: setting(wholeNumber(0, 1_000_000), {
    description: 'Open streams per key; 0 for no limit',
    default: DEFAULT_LIMITS.streamsPerKey,
  }),
  dollars_per_day_per_key: setting(wholeNumber(0, 1_000_000_000), {
    description: 'What the model requests of a key may cost in a day (UTC); 0 for no limit',
    unit: 'US dollars',
    default: DEFAULT_LIMITS.dollarsPerDayPerKey,
  }),
  turns_per_organization: setting(wholeNumber(0, 10_000), {
    description: 'Running turns per organization in one process; one is left to others. 0 for no limit',
    default: DEFAULT_LIMITS.turnsPerOrganization,
  }),
  queued_turns_per_organization: setting(wholeNumber(0, 1_000_000), {
    description: 'Turns of an organization that wait to run; 0 for no limit',
    default: DEFAULT_LIMITS.queuedTurnsPerOrganization,
  }),
  requests_per_second_per_organization: setting(wholeNumber(0, 1_000_000), {
    description: 'Requests of all keys of an organization, on average; 0 for no limit',
    default: DEFAULT_LIMITS.requestsPerSecondPerOrganization,
  }),
  open_requests_per_organization: setting(wholeNumber(0, 1_000_000), {
    description: 'Open requests and streams of all keys of an organization; 0 for no limit',
    default: DEFAULT_LIMITS.openRequestsPerOrganization,
  }),
  streams_per_organization: setting(wholeNumber(0, 1_000_000), {
    description: 'Open streams of all keys of an organization; 0 for no limit',
    default: DEFAULT_LIMITS.streamsPerOrganization,
  }),
  workspaces_per_organization: setting(wholeNumber(0, 1_000_000), {
    description: 'Workspaces of an organization; 0 for no limit',
    default: DEFAULT_LIMITS.workspacesPerOrganization,
  }),
  awake_workspaces_per_organization: setting(wholeNumber(0, 1_000_000), {
    description: 'Workspaces of an organization that run at once; 0 for no limit',
    default: DEFAULT_LIMITS.awakeWorkspacesPerOrganization,
  }),
  processes_per_organization: setting(wholeNumber(0, 1_000_000), {
    description:
      'Processes that its running workspaces may have together (`workspaces.processes` each); 0 for no limit',
    default: DEFAULT_LIMITS.processesPerOrganization,
  }),
  schedules_per_organization: setting(wholeNumber(0, 1_000_000), {
    description: 'Schedules of an organization; 0 for no limit',
    default: DEFAULT_LIMITS.schedulesPerOrganization,
  }),
  stored_bytes_per_organization: setting(wholeNumber(0), {
    description:
      'What an organization may store: the text of its messages, passages, blocks with their versions, agents and tools; 0 for no limit',
    unit: 'bytes',
    default: DEFAULT_LIMITS.storedBytesPerOrganization,
  }),
  dollars_per_day_per_organization: setting(wholeNumber(0, 1_000_000_000), {
    description: 'What the model requests of an organization may cost in a day (UTC); 0 for no limit',
    unit: 'US dollars',
    default: DEFAULT_LIMITS.dollarsPerDayPerOrganization,
  }),
  tokens_per_day_per_organization: setting(wholeNumber(0), {
    description: 'Tokens that an organization may use in a day (UTC) of models whose price is unknown; 0 for no limit',
    unit: 'tokens',
    default: DEFAULT_LIMITS.tokensPerDayPerOrganization,
  }),
}

/** `workspaces` of config.yaml. Below the minimum values nothing useful runs. */
export const WORKSPACES = {
  sandbox: setting(oneOf(CONTAINMENTS), {
    variable: 'HOLDFAST_SANDBOX',
    description: 'How commands are contained; `local` is not a sandbox, and every command needs approval',
    default: 'bubblewrap',
  }),
  folder: setting(absolutePath, {
    variable: 'HOLDFAST_WORKSPACES',
    description: 'The folder of all workspaces; each conversation that has one gets a folder in it',
    defaultText: '`workspaces` in the home',
  }),
  disk_mb: setting(wholeNumber(16, A_TERABYTE_IN_MB), {
    description: 'Disk space of a workspace',
    unit: 'MB',
    default: 1_024,
  }),
  memory_mb: setting(wholeNumber(128, A_TERABYTE_IN_MB), {
    description: 'Memory of all processes of a workspace together',
    unit: 'MB',
    default: 1_024,
  }),
  processes: setting(wholeNumber(8, 32_768), { description: 'Processes at once in a workspace', default: 128 }),
  egress: setting(listOf(domain), {
    variable: 'HOLDFAST_EGRESS',
    description: 'Domains that commands may reach',
    default: [],
    defaultText: 'none: no network',
  }),
  tool_seconds: setting(wholeNumber(1, 86_400), {
    variable: 'HOLDFAST_TOOL_SECONDS',
    description: 'How long one call of a tool from source may run',
    unit: 'seconds',
    default: 180,
  }),
}
