import type { ModelProvider } from './ports/model.ts'
import { type AiSdkOptions, aiSdkProvider, type FindModel } from './providers/ai-sdk/ai-sdk-provider.ts'
import { classify, classifyTransport } from './providers/classify/classify.ts'

/**
 * The door for programs that bring models of the Vercel AI SDK: what it gives goes into `providers` of `openApp`. A door
 * of its own, so that programs without such models load nothing of it.
 */
export const modelsOfAiSdk = (
  models: FindModel,
  options: Omit<AiSdkOptions, 'classify' | 'classifyTransport'>,
): ModelProvider => aiSdkProvider(models, { ...options, classify, classifyTransport })

export type { FindModel } from './providers/ai-sdk/ai-sdk-provider.ts'
