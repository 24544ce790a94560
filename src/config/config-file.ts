import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Validator } from '@cfworker/json-schema'
import type { PoolStrategy } from '../core/credential.ts'
import { Problem } from '../core/problem.ts'
import { isTargetHandle, type TargetHandle } from '../core/target.ts'
import { CONFIG_SCHEMA } from './config-schema.ts'
import type { WorkspaceConfig } from './workspaces.ts'

type ProviderConfig = {
  base_url?: string
  /** For a name of one's own: the language its server speaks. */
  dialect?: 'openai-chat' | 'openai-responses' | 'anthropic' | 'gemini'
  /** To the first byte. */
  timeout_ms?: number
  /** Between two chunks. */
  stall_timeout_ms?: number
  strategy?: PoolStrategy
  headers?: Record<string, string>
  /** Context windows by model, where the provider does not say. */
  windows?: Record<string, number>
  /** It pools and retries by itself. */
  aggregator?: boolean
  /** Where its OAuth tokens come from, instead of the vendor's own addresses. */
  oauth?: {
    token_url?: string
    device_code_url?: string
    exchange_url?: string
    account_url?: string
    client_id?: string
    scope?: string
  }
}

export type ConfigFile = {
  /** The model of agents that name none. */
  model?: TargetHandle
  /** The embedding model of agents that name none. */
  embedding?: TargetHandle
  /** False: only what agents keep is handed to it, not what is said. */
  embed_messages?: boolean
  /** The chain of agents that have none of their own. */
  fallback: TargetHandle[]
  providers: Record<string, ProviderConfig>
  /** By the names of config.yaml; see `readLimits`. */
  limits: Record<string, number>
  /** See `readWorkspaceSettings`. */
  workspaces: WorkspaceConfig
}

const NOTHING: ConfigFile = { fallback: [], providers: {}, limits: {}, workspaces: {} }

/** `config.yaml` of the home. All mistakes are told at once, each with its place. */
export async function readConfigFile(home: string): Promise<ConfigFile> {
  const file = join(home, 'config.yaml')
  if (!existsSync(file)) return NOTHING
  // Loaded only where there is something to read: it would be a third of a cold start.
  // By its default: bundled, a package that is no module has no other export.
  const { parseDocument } = (await import('yaml')).default
  const document = parseDocument(readFileSync(file, 'utf8'))
  if (document.errors.length > 0)
    throw unusable(
      file,
      document.errors.map((error) => error.message.split('\n')[0]!),
    )
  const content = (document.toJS() ?? {}) as Record<string, unknown>
  const { valid, errors } = new Validator(CONFIG_SCHEMA, '2020-12', false).validate(content)
  if (!valid) throw unusable(file, placesOf(errors))
  const config = { ...NOTHING, ...(content as Partial<ConfigFile>) }
  const named = [config.model, config.embedding].filter((handle) => handle !== undefined)
  const bad = [...config.fallback, ...named].filter((handle) => !isTargetHandle(handle))
  if (bad.length > 0)
    throw unusable(
      file,
      bad.map((handle) => `"${handle}" is no model handle; write provider/model`),
    )
  return config
}

/** The deepest complaints only: a parent that fails because of its child says nothing new. */
function placesOf(errors: readonly { instanceLocation: string; error: string; keyword: string }[]): string[] {
  const leaves = errors.filter(
    ({ instanceLocation }) => !errors.some((other) => other.instanceLocation.startsWith(`${instanceLocation}/`)),
  )
  return [
    ...new Set(leaves.map(({ instanceLocation, error }) => `at ${instanceLocation.slice(2) || 'the top'}: ${error}`)),
  ]
}

const unusable = (file: string, faults: string[]): Problem =>
  new Problem('invalid', `${file} cannot be used. ${faults.join(' ')}`, { faults })
