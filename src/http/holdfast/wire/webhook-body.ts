import type { Json, JsonObject } from '../../../core/json.ts'
import type { WebhookDelivery } from '../../../core/webhook.ts'
import type { RunDetails } from '../../../service/runs/runs.ts'
import { callbackBody } from '../../letta/callback-body.ts'

const TIME = /_at$/

/** Facts come from triggers: times are milliseconds there, in fields that end in `_at`. */
const wireFact = ([name, value]: [string, Json]): [string, Json] => [
  name,
  TIME.test(name) && typeof value === 'number' ? new Date(value).toISOString() : value,
]

function runData(story: RunDetails): JsonObject {
  const { agentId, conversationId, stopReason = null } = story.run
  return {
    agent_id: agentId,
    conversation_id: conversationId,
    stop_reason: stopReason,
    ...JSON.parse(callbackBody(story)),
  }
}

/** The body of a webhook: the type, time and data of Standard Webhooks; for a callback, the format of the old client. */
export function webhookBody({ type, createdAt, facts }: WebhookDelivery, story: RunDetails | undefined): string {
  if (type === 'callback' && story) return callbackBody(story)
  const data = story ? runData(story) : Object.fromEntries(Object.entries(facts).map(wireFact))
  return JSON.stringify({ type, timestamp: new Date(createdAt).toISOString(), data })
}
