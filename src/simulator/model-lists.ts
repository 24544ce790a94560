import type { Json } from '../core/json.ts'
import type { Exchange } from './exchange.ts'
import type { HttpAnswer } from './play-answer.ts'
import { CREATED } from './responder.ts'

/** The model list, in the format of the vendor whose path or header the request uses. Unlisted models work, too. */
export function listModels(models: string[], { received }: Exchange): HttpAnswer {
  const one = /\/models\/([^/]+)$/.exec(received.path)?.[1]
  const describe: (id: string) => Json =
    received.headers['anthropic-version'] !== undefined
      ? anthropicModel
      : received.path.includes('/v1beta/')
        ? geminiModel
        : openaiModel
  if (one !== undefined) return { status: 200, body: describe(decodeURIComponent(one)) }
  const data = models.map(describe)
  if (describe === geminiModel) return { status: 200, body: { models: data } }
  if (describe === openaiModel) return { status: 200, body: { object: 'list', data } }
  return { status: 200, body: { data, has_more: false, first_id: models[0] ?? null, last_id: models.at(-1) ?? null } }
}

const openaiModel = (id: string) => ({ id, object: 'model', created: CREATED, owned_by: 'simulator' })

const anthropicModel = (id: string) => ({
  type: 'model',
  id,
  display_name: id,
  created_at: new Date(CREATED * 1000).toISOString(),
})

const geminiModel = (id: string) => ({
  name: `models/${id}`,
  displayName: id,
  version: '1',
  inputTokenLimit: 1_048_576,
  outputTokenLimit: 65_536,
  supportedGenerationMethods: ['generateContent'],
})
