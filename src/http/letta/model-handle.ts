import { Problem } from '../../core/problem.ts'
import { isTargetHandle, parseTarget, type TargetHandle } from '../../core/target.ts'
import type { ServiceContext } from '../../service/service-context.ts'

/** What some clients send for "whatever you think best". */
const AUTO_MODEL = 'letta/auto'

/** The model an agent shall use, as a handle of a provider that is known here. */
export function requireModel(named: string | undefined, context: ServiceContext): TargetHandle {
  const handle = named === undefined || named === AUTO_MODEL ? context.defaults.model : named
  if (!isTargetHandle(handle))
    throw new Problem('invalid-argument', `"${handle.slice(0, 200)}" is not a model handle. Write provider/model.`)
  const { provider } = parseTarget(handle)!
  if (context.deps.models.find(provider)) return handle
  const known = context.directory.list().map(({ name }) => `${name}/…`)
  throw new Problem('not-found', `Handle ${handle.slice(0, 200)} not found, must be one of [${known.join(', ')}]`)
}

/** Names of vendors as the client knows them; what it does not know speaks OpenAI's dialect. */
const ENDPOINT_TYPES: Record<string, string> = {
  anthropic: 'anthropic',
  openai: 'openai',
  gemini: 'google_ai',
  google: 'google_ai',
  google_ai: 'google_ai',
  azure: 'azure',
  groq: 'groq',
  ollama: 'ollama',
  vllm: 'vllm',
  lmstudio: 'lmstudio',
  together: 'together',
  bedrock: 'bedrock',
  deepseek: 'deepseek',
  xai: 'xai',
  openrouter: 'openrouter',
  mistral: 'mistral',
}

export const endpointType = (provider: string): string => ENDPOINT_TYPES[provider] ?? 'openai'

/** What is not known of a model is taken to be this. */
export const DEFAULT_WINDOW = 128_000

export function contextWindowOf(handle: string, context: ServiceContext): number {
  const target = parseTarget(handle)
  return (target && context.directory.factsOf(target).window) ?? DEFAULT_WINDOW
}
