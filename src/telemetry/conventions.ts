/* The names of the semantic conventions of OpenTelemetry for generative AI, as of version 1.41: nowhere else. What has no
 * name there begins with `holdfast.`. */

export const OPERATION = { run: 'invoke_agent', attempt: 'chat', tool: 'execute_tool' } as const

export const ATTRIBUTE = {
  operation: 'gen_ai.operation.name',
  provider: 'gen_ai.provider.name',
  requestModel: 'gen_ai.request.model',
  finishReasons: 'gen_ai.response.finish_reasons',
  inputTokens: 'gen_ai.usage.input_tokens',
  outputTokens: 'gen_ai.usage.output_tokens',
  cachedTokens: 'gen_ai.usage.cache_read.input_tokens',
  cacheWriteTokens: 'gen_ai.usage.cache_creation.input_tokens',
  reasoningTokens: 'gen_ai.usage.reasoning.output_tokens',
  inputMessages: 'gen_ai.input.messages',
  outputMessages: 'gen_ai.output.messages',
  toolName: 'gen_ai.tool.name',
  toolCallId: 'gen_ai.tool.call.id',
  toolType: 'gen_ai.tool.type',
  toolArguments: 'gen_ai.tool.call.arguments',
  toolResult: 'gen_ai.tool.call.result',
  agentId: 'gen_ai.agent.id',
  agentName: 'gen_ai.agent.name',
  conversationId: 'gen_ai.conversation.id',
  errorType: 'error.type',
  httpStatus: 'http.response.status_code',
  runId: 'holdfast.run.id',
  organizationId: 'holdfast.organization.id',
  stopReason: 'holdfast.stop_reason',
  purpose: 'holdfast.attempt.purpose',
  remedy: 'holdfast.recovery.remedy',
  nextModel: 'holdfast.recovery.next_model',
  toolStatus: 'holdfast.tool.status',
  wait: 'holdfast.wait.for',
} as const

/** Marks on the span of a run. */
export const MARK = {
  failover: 'holdfast.failover',
  recovery: 'holdfast.recovery',
  workerLost: 'holdfast.worker_lost',
  steered: 'holdfast.input_steered',
  cancelled: 'holdfast.cancel_requested',
  fault: 'holdfast.fault',
} as const

export type Wait = 'queue' | 'retry' | 'approval'

/** Providers that the conventions call by another name. */
const PROVIDER_NAMES: Readonly<Record<string, string>> = {
  azure: 'azure.ai.openai',
  bedrock: 'aws.bedrock',
  gemini: 'gcp.gemini',
  google: 'gcp.gemini',
  mistral: 'mistral_ai',
  vertex: 'gcp.vertex_ai',
  xai: 'x_ai',
}

export const providerName = (provider: string): string => PROVIDER_NAMES[provider] ?? provider

export const RESOURCE = {
  service: 'service.name',
  version: 'service.version',
  instance: 'service.instance.id',
} as const
