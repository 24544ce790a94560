import { Problem } from '../../core/problem.ts'
import { isTargetHandle, parseTarget, type TargetHandle } from '../../core/target.ts'
import { currentHandle } from '../../service/providers/retired-handles.ts'
import type { ServiceContext } from '../../service/service-context.ts'

/** Handle that some clients send to let the server choose a model. */
export const AUTO_MODEL = 'letta/auto'

/** The model handle for an agent; its provider must be configured. */
export function requireModel(named: string | undefined, context: ServiceContext): TargetHandle {
  const handle = named === undefined || named === AUTO_MODEL ? context.defaults.model : named
  if (!isTargetHandle(handle))
    throw new Problem('invalid-argument', `"${handle.slice(0, 200)}" is not a model handle. Write provider/model.`)
  const current = currentHandle(handle, context)
  const { provider } = parseTarget(current)!
  if (context.deps.models.find(provider)) return current
  const known = context.directory.list().map(({ name }) => `${name}/…`)
  throw new Problem('not-found', `Handle ${handle.slice(0, 200)} not found, must be one of [${known.join(', ')}]`)
}

/** The same for a field of a request that is not its main model; the message names it. */
export function requireModelIn(field: string, handle: string, context: ServiceContext): TargetHandle {
  try {
    return requireModel(handle, context)
  } catch (fault) {
    throw fault instanceof Problem ? new Problem('invalid-argument', `${field}: ${fault.message}`) : fault
  }
}

/** A sentence for the response header about a handle of the retired server that has another name here. */
export const renamedHandle = (field: string, sent: string | null | undefined, current: string | undefined): string[] =>
  !sent || current === undefined || sent === current || sent === AUTO_MODEL
    ? []
    : [`${field}: ${sent.slice(0, 200)} is ${current.slice(0, 200)} here.`]

/** Provider types that the official client knows; other providers count as `openai`. */
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

export const knownEndpointType = (provider: string): string | undefined => ENDPOINT_TYPES[provider]

export const endpointType = (provider: string): string => knownEndpointType(provider) ?? 'openai'
