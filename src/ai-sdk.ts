import type { ModelProvider } from './ports/model.ts'
import { type AiSdkOptions, aiSdkProvider, type FindModel } from './providers/ai-sdk/ai-sdk-provider.ts'
import { classify, classifyTransport } from './providers/classify/classify.ts'

/**
 * The entry point for programs with models of the Vercel AI SDK: pass the result to `providers` of `openApp`. It is
 * separate, so that programs without such models do not load it.
 */
export const modelsOfAiSdk = (
  models: FindModel,
  options: Omit<AiSdkOptions, 'classify' | 'classifyTransport'>,
): ModelProvider => aiSdkProvider(models, { ...options, classify, classifyTransport })

export type { FindModel } from './providers/ai-sdk/ai-sdk-provider.ts'
