import type { HttpDialect } from '../core/message.ts'
import type { Quirks } from './wire/quirks.ts'

export type Vendor = {
  /** The part before the slash of a model handle. */
  name: string
  label: string
  dialect: HttpDialect
  /** Absent where each customer has its own; then a setting or the variable must provide it. */
  baseUrl?: string
  baseUrlVariable: string
  /** In lookup order; every variable that is set becomes a credential. */
  keyVariables: readonly string[]
  needsKey: boolean
  quirks: Quirks
  isAggregator: boolean
}

export const findVendor = (name: string): Vendor | undefined => BY_NAME.get(name)

type VendorRow = Pick<Vendor, 'name' | 'label'> & Partial<Vendor>

/** Most servers compatible with Chat Completions know only the older name of the output limit. */
const COMPATIBLE: Quirks = { outputCapField: 'max_tokens' }

/** Both of these accept `cache_control`; Together, Groq and GitHub Copilot do not document it, so they get none. */
const AGGREGATOR: Quirks = {
  ...COMPATIBLE,
  reasoningField: 'reasoning',
  reasoningDetails: true,
  reasoningParameter: 'unified',
  cacheMarks: 'claude',
}

const ROWS: readonly VendorRow[] = [
  { name: 'openai', label: 'OpenAI', baseUrl: 'https://api.openai.com/v1' },
  {
    name: 'openai-responses',
    label: 'OpenAI (Responses)',
    dialect: 'openai-responses',
    baseUrl: 'https://api.openai.com/v1',
    baseUrlVariable: 'OPENAI_BASE_URL',
    keyVariables: ['OPENAI_API_KEY'],
  },
  {
    name: 'anthropic',
    label: 'Anthropic',
    dialect: 'anthropic',
    baseUrl: 'https://api.anthropic.com',
    quirks: { auth: 'x-api-key' },
  },
  {
    name: 'gemini',
    label: 'Google Gemini',
    dialect: 'gemini',
    baseUrl: 'https://generativelanguage.googleapis.com',
    keyVariables: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
    quirks: { auth: 'x-goog-api-key' },
  },
  {
    name: 'openrouter',
    label: 'OpenRouter',
    baseUrl: 'https://openrouter.ai/api/v1',
    quirks: AGGREGATOR,
    isAggregator: true,
  },
  {
    name: 'nous',
    label: 'Nous Research',
    baseUrl: 'https://inference-api.nousresearch.com/v1',
    quirks: AGGREGATOR,
    isAggregator: true,
  },
  { name: 'groq', label: 'Groq', baseUrl: 'https://api.groq.com/openai/v1' },
  { name: 'together', label: 'Together AI', baseUrl: 'https://api.together.xyz/v1', quirks: COMPATIBLE },
  {
    name: 'deepseek',
    label: 'DeepSeek',
    baseUrl: 'https://api.deepseek.com/v1',
    // In thinking mode it rejects a history whose calls lack their reasoning.
    quirks: { ...COMPATIBLE, reasoningField: 'reasoning_content', reasoningWithCalls: 'always' },
  },
  { name: 'xai', label: 'xAI', baseUrl: 'https://api.x.ai/v1' },
  // The next three were never tried against their vendors: addresses are those of public programs with the same login.
  { name: 'zai', label: 'Z.AI', baseUrl: 'https://api.z.ai/api/paas/v4', quirks: COMPATIBLE },
  {
    name: 'codex',
    label: 'Codex (ChatGPT)',
    dialect: 'openai-responses',
    baseUrl: 'https://chatgpt.com/backend-api/codex',
    keyVariables: [],
    quirks: { instructions: 'always', outputCap: 'never-send' },
  },
  {
    name: 'copilot',
    label: 'GitHub Copilot',
    // The token exchange states the address of the account, which wins.
    baseUrl: 'https://api.githubcopilot.com',
    keyVariables: [],
    quirks: { ...COMPATIBLE, imageHeader: { 'copilot-vision-request': 'true' } },
  },
  {
    name: 'mistral',
    label: 'Mistral',
    baseUrl: 'https://api.mistral.ai/v1',
    // It rejects unknown fields, and reports usage without being asked.
    quirks: { ...COMPATIBLE, streamUsage: 'never-ask', callIds: 'nine-characters', withoutNames: true },
  },
  {
    name: 'azure',
    label: 'Azure OpenAI',
    baseUrlVariable: 'AZURE_OPENAI_BASE_URL',
    keyVariables: ['AZURE_OPENAI_API_KEY'],
    quirks: { auth: 'api-key' },
  },
  localVendor('ollama', 'Ollama', 'http://127.0.0.1:11434/v1'),
  localVendor('vllm', 'vLLM', 'http://127.0.0.1:8000/v1'),
  localVendor('llamacpp', 'llama.cpp', 'http://127.0.0.1:8080/v1'),
  localVendor('lmstudio', 'LM Studio', 'http://127.0.0.1:1234/v1'),
  {
    name: 'custom',
    label: 'Custom',
    needsKey: false,
    quirks: COMPATIBLE,
  },
]

/** A server on this machine or in the local network: no key unless one is set. */
function localVendor(name: string, label: string, baseUrl: string): VendorRow {
  return { name, label, baseUrl, needsKey: false, quirks: COMPATIBLE }
}

export const VENDORS: readonly Vendor[] = ROWS.map(withVendorDefaults)
const BY_NAME = new Map(VENDORS.map((vendor) => [vendor.name, vendor]))

function withVendorDefaults(row: VendorRow): Vendor {
  const prefix = variablePrefix(row.name)
  const keyVariables = row.keyVariables ?? [`${prefix}_API_KEY`]
  return {
    dialect: 'openai-chat',
    baseUrlVariable: `${prefix}_BASE_URL`,
    needsKey: true,
    quirks: {},
    isAggregator: false,
    ...row,
    keyVariables,
  }
}

function variablePrefix(name: string): string {
  return name.toUpperCase().replaceAll('-', '_')
}
