import type { SimulatedDialect } from './dialect.ts'

/** Shared by both protocols of OpenAI. */
export const openaiErrorBody: SimulatedDialect['errorBody'] = ({ body, message, type, code, param, status }) =>
  body?.({ message, status }) ?? {
    error: { message, type: type ?? 'invalid_request_error', param: param ?? null, code: code ?? null },
  }
