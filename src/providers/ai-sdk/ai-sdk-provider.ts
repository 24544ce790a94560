import type { LanguageModelV3, LanguageModelV3StreamPart, SharedV3ProviderOptions } from '@ai-sdk/provider'
import type { Part } from '../../core/answer.ts'
import { defined } from '../../core/defined.ts'
import type { Failure } from '../../core/failure.ts'
import type { MessageBody } from '../../core/message.ts'
import type { Grant } from '../../ports/credentials.ts'
import type { ModelFacts, ModelProvider, ModelRequest, ModelStreamOptions } from '../../ports/model.ts'
import { withAdjustedImages } from '../images/adjust-images.ts'
import { type Deadlines, deadlinesFor } from '../wire/deadlines.ts'
import type { Classify, ClassifyTransport } from '../wire/dialect.ts'
import { callOptions } from './call-options.ts'
import { newStreamPartReader } from './read-stream-part.ts'
import { failureOf } from './sdk-failure.ts'
import { newSilenceWatch, SilenceTimeout } from './silence-watch.ts'

export type AiSdkOptions = {
  provider: string
  classify: Classify
  classifyTransport: ClassifyTransport
  deadlines?: Deadlines
  /** The destination of requests, if known: cooldowns of an endpoint are keyed by it. */
  endpoint?: { baseUrl: string; isAggregator: boolean }
  facts?: (model: string) => ModelFacts
  /** Options that the SDK does not standardize, such as effort. */
  providerOptions?: (request: ModelRequest) => SharedV3ProviderOptions
}

/** Looks up the model by name; the grant is for callers that create one client per key. */
export type FindModel = (model: string, grant: Grant | undefined) => LanguageModelV3

/** Any language model of the Vercel AI SDK as a provider. It sends one request: the SDK retries above `doStream`. */
export function aiSdkProvider(models: FindModel, options: AiSdkOptions): ModelProvider {
  return {
    stream: (request, streamOptions) =>
      withAdjustedImages(request, (adjusted) => streamParts(adjusted, streamOptions, { models, options })),
    endpoint: options.endpoint ?? { baseUrl: `ai-sdk:${options.provider}`, isAggregator: false },
    ...defined({ factsOf: options.facts }),
  }
}

type AiSdkStreamDeps = { models: FindModel; options: AiSdkOptions }

async function* streamParts(
  request: ModelRequest,
  { signal, grant }: ModelStreamOptions,
  { models, options }: AiSdkStreamDeps,
): AsyncGenerator<Part, void, void> {
  if (signal.aborted) return
  const { firstByteMs, stallMs } = deadlinesFor(options.deadlines ?? {}, sizeOf(request.messages))
  const watch = newSilenceWatch(signal)
  let phase: 'first-byte' | 'between-chunks' = 'first-byte'
  const failed = (error: unknown): Failure => failureOf(error, { ...options, model: request.model, phase })
  let reader: ReadableStreamDefaultReader<LanguageModelV3StreamPart> | undefined
  try {
    const providerOptions = options.providerOptions?.(request)
    const leftOut = options.providerOptions ? [] : leftOutOf(request)
    if (leftOut.length > 0) yield { type: 'settings-left-out', settings: leftOut }
    const model = models(request.model, grant)
    const call = { ...callOptions(request), abortSignal: watch.signal, ...defined({ providerOptions }) }
    const { stream } = await watch.within(firstByteMs, model.doStream(call))
    reader = stream.getReader()
    const read = newStreamPartReader(failed)
    for (;;) {
      const chunk = await watch.within(phase === 'first-byte' ? firstByteMs : stallMs, reader.read())
      if (chunk.done) return
      if (chunk.value.type !== 'stream-start') phase = 'between-chunks'
      for (const part of read(chunk.value)) {
        yield part
        if (part.type === 'finish' || part.type === 'failure') return
      }
    }
  } catch (error) {
    if (signal.aborted) return
    yield { type: 'failure', failure: error instanceof SilenceTimeout ? silenceFailure(error, phase) : failed(error) }
  } finally {
    watch.release()
    // The stream is abandoned, so an error while canceling it does not matter.
    reader?.cancel().catch(() => undefined)
  }
}

/** Settings that the SDK does not standardize; `providerOptions` may send them. */
function leftOutOf({ settings = {}, tools }: ModelRequest): string[] {
  const { parallelToolCalls, effort, thinkingBudget, verbosity } = settings
  const noOption = (name: string) => `${name}: the AI SDK has no such option; send it with \`providerOptions\``
  return [
    ...(parallelToolCalls === false && tools.length > 0 ? [noOption('parallel_tool_calls')] : []),
    ...(effort === undefined ? [] : [noOption('reasoning effort')]),
    ...(thinkingBudget === undefined ? [] : [noOption('thinking budget')]),
    ...(verbosity === undefined ? [] : [noOption('verbosity')]),
  ]
}

const silenceFailure = ({ message }: SilenceTimeout, phase: 'first-byte' | 'between-chunks'): Failure => ({
  kind: phase === 'first-byte' ? 'timeout' : 'stalled',
  code: phase,
  detail: message,
  mayHaveBeenAccepted: true,
})

/** Approximate size in characters; deadlines grow with it. */
function sizeOf(messages: readonly MessageBody[]): number {
  let size = 0
  for (const body of messages) {
    if (body.role === 'tool') for (const outcome of body.outcomes) size += outcome.output.length
    else if ('content' in body) for (const part of body.content) size += 'text' in part ? part.text.length : 0
  }
  return size
}
