import { POOL_STRATEGIES } from '../core/credential.ts'
import { DURABILITIES } from '../core/durability.ts'
import { USUAL_LIMITS } from '../core/limits.ts'
import { DEFAULT_HOST, DEFAULT_PORT } from '../core/listening.ts'
import { DIALECTS } from '../core/message.ts'
import { CONTAINMENTS } from '../ports/workspaces.ts'
import {
  absolutePath,
  anyText,
  domain,
  headerText,
  listOf,
  mapOf,
  modelHandle,
  numberUpTo,
  oneOf,
  postgresUrl,
  trueOrFalse,
  webAddress,
  wholeNumber,
} from './kinds.ts'
import { setting } from './setting.ts'

/*
 * Everything that can be configured. The types, the checks, the JSON Schema, the names of the environment variables and
 * the tables of docs/configuration.md follow from these records; `npm run docs` writes the latter.
 */

/** Environment only. The command line reads these, before the rest of the configuration or without it. */
export const COMMAND_LINE = {
  home: setting(anyText, { says: 'The folder with everything that must survive', otherwise: '`~/.holdfast`' }),
  api_key: setting(anyText, {
    says: "The server's own key; a public address needs 32 characters or more",
    otherwise: 'made at the first start, kept in `api-key` of the home',
  }),
  host: setting(anyText, {
    variable: 'HOST',
    says: 'The address the server listens on; `--host` wins',
    default: DEFAULT_HOST,
  }),
  port: setting(wholeNumber(0, 65_535), {
    variable: 'PORT',
    says: 'The port the server listens on, 0 for any free one; `--port` wins',
    default: DEFAULT_PORT,
  }),
  debug: setting(oneOf(['1']), { says: '`1` shows where a bug of Holdfast happened' }),
}

const A_WEEK_IN_MINUTES = 7 * 24 * 60

/** Environment only: what differs between the processes of one installation. */
export const PROCESS = {
  database_url: setting(postgresUrl, {
    variable: 'DATABASE_URL',
    says: 'The PostgreSQL database',
    otherwise: 'SQLite in the home',
  }),
  durability: setting(oneOf(DURABILITIES), {
    says: 'Whether commits survive a power cut (`strict`) or only the death of the process (`relaxed`)',
    default: 'strict',
  }),
  max_running_turns: setting(wholeNumber(1, 10_000), { says: 'Turns at once in one process', default: 64 }),
  max_steps: setting(wholeNumber(1, 10_000), { says: 'Model answers in one run', default: 50 }),
  max_run_minutes: setting(numberUpTo(A_WEEK_IN_MINUTES), {
    says: 'Working time of one run',
    unit: 'minutes',
    default: 60,
  }),
  approval_days: setting(numberUpTo(366), {
    says: 'How long an approval request stays open',
    unit: 'days',
    default: 7,
  }),
  stream_days: setting(numberUpTo(3660), {
    says: 'How long the stream of a run can be read again after its end; its messages stay',
    unit: 'days',
    default: 7,
  }),
  cache_entries: setting(wholeNumber(0, 1_000_000), {
    says: 'Conversations kept in memory between their turns; 0: everything is read again',
    default: 128,
  }),
  cache_mb: setting(numberUpTo(1_000_000), {
    says: 'The memory they may take',
    unit: 'MB',
    otherwise: 'a tenth of what the process may use',
  }),
  cache_idle_minutes: setting(numberUpTo(A_WEEK_IN_MINUTES), {
    says: 'How long one is kept without a turn',
    unit: 'minutes',
    default: 60,
  }),
}

/** The top level of config.yaml. */
export const GENERAL = {
  model: setting(modelHandle, { says: 'The model of agents that name none', otherwise: '`scripted/friendly`' }),
  fallback: setting(listOf(modelHandle), {
    says: 'The fallback chain of agents that have none of their own',
    default: [],
    otherwise: 'no fallback',
  }),
  embedding: setting(modelHandle, {
    says: 'The embedding model of agents that name none',
    otherwise: 'none: search goes by words',
  }),
  embed_messages: setting(trueOrFalse, {
    says:
      'Whether messages are handed to the embedding model too, and not only what agents keep; never without `embedding`. ' +
      'Each message takes about 2 KB of the database',
    default: true,
  }),
}

const A_DAY_IN_MS = 86_400_000

/** `providers.<name>` of config.yaml. */
export const PROVIDER = {
  base_url: setting(webAddress, { says: 'Where requests go', otherwise: "the vendor's address" }),
  dialect: setting(oneOf(DIALECTS), {
    says: 'The protocol of the server',
    otherwise: "the vendor's; `openai-chat` for a server of your own",
  }),
  timeout_ms: setting(wholeNumber(1, A_DAY_IN_MS), {
    says: 'How long the first byte of an answer may take',
    unit: 'ms',
    otherwise: '120 s, and up to twice that for long prompts',
  }),
  stall_timeout_ms: setting(wholeNumber(1, A_DAY_IN_MS), {
    says: 'How long an answer may be silent',
    unit: 'ms',
    otherwise: '60 s, and up to twice that for long prompts',
  }),
  strategy: setting(oneOf(POOL_STRATEGIES), {
    says: 'Which credential of the pool is taken',
    otherwise: '`fill_first`',
  }),
  headers: setting(mapOf(headerText), { says: 'Headers sent with every request' }),
  windows: setting(mapOf(wholeNumber(1)), {
    says: 'Context windows by model',
    unit: 'tokens',
    otherwise: 'the built-in table, or what the provider said when a request was too long',
  }),
  aggregator: setting(trueOrFalse, {
    says: '`true`: it pools and retries by itself, so its connections are not renewed before the chain goes on',
    otherwise: '`true` for OpenRouter and Nous',
  }),
}

const OF_THE_VENDOR = "the vendor's"

/** `providers.<name>.oauth` of config.yaml. */
export const OAUTH = {
  token_url: setting(anyText, { says: 'Where tokens are given out and renewed', otherwise: OF_THE_VENDOR }),
  device_code_url: setting(anyText, {
    says: 'Where a login with a code begins (RFC 8628)',
    otherwise: OF_THE_VENDOR,
  }),
  exchange_url: setting(anyText, {
    says: 'Where a long-lived token is changed for a short-lived one (Copilot)',
    otherwise: OF_THE_VENDOR,
  }),
  account_url: setting(anyText, { says: 'Says whether the account is paid up (Nous)', otherwise: OF_THE_VENDOR }),
  client_id: setting(anyText, { says: 'The client that asks for tokens', otherwise: OF_THE_VENDOR }),
  scope: setting(anyText, { says: 'The scope that is asked for', otherwise: OF_THE_VENDOR }),
}

/** `limits` of config.yaml. */
export const LIMITS = {
  body_bytes: setting(wholeNumber(1_024, 1_073_741_824), {
    says: 'The body of a request',
    unit: 'bytes',
    default: USUAL_LIMITS.bodyBytes,
  }),
  json_depth: setting(wholeNumber(4, 1_000), {
    says: 'Levels of nesting in a JSON body',
    default: USUAL_LIMITS.jsonDepth,
  }),
  connections: setting(wholeNumber(1, 1_000_000), {
    says: 'Connections at once',
    default: USUAL_LIMITS.connections,
  }),
  headers_ms: setting(wholeNumber(100, 600_000), {
    says: 'The time for the headers of a request to arrive',
    unit: 'ms',
    default: USUAL_LIMITS.headersMs,
  }),
  request_ms: setting(wholeNumber(100, 3_600_000), {
    says: 'The time for a whole request to arrive',
    unit: 'ms',
    default: USUAL_LIMITS.requestMs,
  }),
  refusals_per_minute: setting(wholeNumber(1, 1_000_000), {
    says: 'Requests without a valid key from one address',
    default: USUAL_LIMITS.refusalsPerMinute,
  }),
  requests_per_second: setting(wholeNumber(0, 1_000_000), {
    says: 'Requests of a key, on average; 0 for any number',
    default: USUAL_LIMITS.requestsPerSecond,
  }),
  open_requests_per_key: setting(wholeNumber(0, 1_000_000), {
    says: 'Requests and streams a key holds open; 0 for any number',
    default: USUAL_LIMITS.openRequestsPerKey,
  }),
  turns_per_key: setting(wholeNumber(0, 10_000), {
    says: 'Running turns a key may have started; 0 for any number',
    default: USUAL_LIMITS.turnsPerKey,
  }),
  turns_per_agent: setting(wholeNumber(0, 10_000), {
    says: 'Running turns of an agent, for keys; 0 for any number',
    default: USUAL_LIMITS.turnsPerAgent,
  }),
}

const A_TERABYTE_IN_MB = 1_048_576

/** `workspaces` of config.yaml. Below the lower ends of its numbers nothing useful runs. */
export const WORKSPACES = {
  sandbox: setting(oneOf(CONTAINMENTS), {
    variable: 'HOLDFAST_SANDBOX',
    says: 'What contains commands; `local` is no sandbox, and every command waits for approval',
    default: 'bubblewrap',
  }),
  folder: setting(absolutePath, {
    variable: 'HOLDFAST_WORKSPACES',
    says: 'The folder of all workspaces; each conversation that has one gets a folder in it',
    otherwise: '`workspaces` in the home',
  }),
  disk_mb: setting(wholeNumber(16, A_TERABYTE_IN_MB), {
    says: 'What a workspace may take on disk',
    unit: 'MB',
    default: 1_024,
  }),
  memory_mb: setting(wholeNumber(128, A_TERABYTE_IN_MB), {
    says: 'Memory for everything that runs in a workspace',
    unit: 'MB',
    default: 1_024,
  }),
  processes: setting(wholeNumber(8, 32_768), { says: 'Processes at once in a workspace', default: 128 }),
  egress: setting(listOf(domain), {
    variable: 'HOLDFAST_EGRESS',
    says: 'Domains that commands may reach',
    default: [],
    otherwise: 'none: no network',
  }),
}
