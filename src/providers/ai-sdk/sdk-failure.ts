import type { APICallError } from '@ai-sdk/provider'
import type { Failure, FailureKind } from '../../core/failure.ts'
import type { Classify, ClassifyTransport } from '../wire/dialect.ts'

type FailureContext = {
  provider: string
  model: string
  classify: Classify
  classifyTransport: ClassifyTransport
  phase: 'first-byte' | 'between-chunks'
}

/** The kinds of the SDK's own errors. Errors of a response are classified by its content. */
const KINDS: Record<string, FailureKind> = {
  AI_LoadAPIKeyError: 'auth-rejected',
  AI_LoadSettingError: 'invalid-request',
  AI_NoSuchModelError: 'model-unknown',
  AI_UnsupportedFunctionalityError: 'invalid-request',
  AI_InvalidPromptError: 'invalid-request',
  AI_InvalidArgumentError: 'invalid-request',
  AI_EmptyResponseBodyError: 'empty-answer',
  AI_NoContentGeneratedError: 'empty-answer',
  AI_JSONParseError: 'malformed-answer',
  AI_TypeValidationError: 'malformed-answer',
  AI_InvalidResponseDataError: 'malformed-answer',
}

export function failureOf(error: unknown, context: FailureContext): Failure {
  const { provider, model, classify, classifyTransport, phase } = context
  const accepted = phase === 'between-chunks' ? { mayHaveBeenAccepted: true } : {}
  if (isCallError(error) && error.statusCode !== undefined) {
    const body = error.responseBody ?? error.message
    const headers = lowerCased(error.responseHeaders ?? {})
    // A status of 200 means that the stream of a successful response could not be read, so the status is left out.
    const status = error.statusCode >= 300 ? { status: error.statusCode } : {}
    return { ...accepted, ...classify({ provider, model, headers, body, ...status }) }
  }
  const kind = error instanceof Error && Object.hasOwn(KINDS, error.name) ? KINDS[error.name] : undefined
  if (kind) return { kind, detail: (error as Error).message, ...accepted }
  if (error instanceof Error) return { ...accepted, ...classifyTransport(error.cause ?? error, phase) }
  // An error event inside a 200, passed on unchanged by a provider of the SDK.
  return { ...accepted, ...classify({ provider, model, headers: {}, body: textOf(error) }) }
}

/** Compared by name, because the class may come from another copy of the package. */
const isCallError = (error: unknown): error is APICallError =>
  error instanceof Error && (error.name === 'AI_APICallError' || 'statusCode' in error)

const lowerCased = (headers: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))

const textOf = (error: unknown): string =>
  typeof error === 'string' ? error : (JSON.stringify(error) ?? String(error))
