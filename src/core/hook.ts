import type { AgentId, ConversationId, HookId, OrganizationId, RunId } from './id.ts'
import type { Json } from './json.ts'
import type { Principal } from './people.ts'
import type { RunSettings } from './run.ts'
import type { TargetHandle } from './target.ts'

/** How a sender signs. `hmac`: HMAC-SHA256 of the body in one header, as hex or base64. */
export const HOOK_SCHEMES = ['standard', 'github', 'stripe', 'hmac'] as const

export type HookScheme = (typeof HOOK_SCHEMES)[number]

/** An address whose signed requests become messages to an agent. */
export type Hook = {
  id: HookId
  organizationId: OrganizationId
  agentId: AgentId
  /** Absent: the default conversation of the agent. */
  conversationId?: ConversationId
  name: string
  scheme: HookScheme
  /** Of `hmac`: the header with the signature. */
  signatureHeader: string
  /** Encrypted `HookKeys`. */
  sealed: string
  /** The message, with `{{body.field}}`, `{{event}}` and `{{headers.name}}` replaced. */
  template: string
  /** Absent: every event. Others are ignored. */
  events?: string[]
  /** Deliveries that are taken per minute. */
  perMinute: number
  onGuarded: RunSettings['onGuarded']
  model?: TargetHandle
  maxSteps?: number
  isPaused: boolean
  createdBy: Principal
  createdAt: number
}

/** The previous secret is accepted too until `previousUntil`. */
export type HookKeys = { current: string; previous?: string; previousUntil?: number }

export const HOOK_OUTCOMES = ['accepted', 'ignored', 'refused'] as const

/** What became of a delivery. */
export type HookDelivery = {
  hookId: HookId
  organizationId: OrganizationId
  agentId: AgentId
  /** As the sender names it, or the digest of the body; absent if the request was not understood. */
  deliveryId?: string
  event?: string
  outcome: (typeof HOOK_OUTCOMES)[number]
  runId?: RunId
  /** Why it became no run. */
  reason?: string
  bytes: number
  receivedAt: number
  /** How often an accepted one came again. */
  repeats: number
}

export const MAX_HOOKS = 200
export const MAX_HOOK_BYTES = 1_048_576
export const MAX_TEMPLATE = 20_000
/** Longest message that a template may make. */
const MAX_MESSAGE = 200_000
export const DEFAULT_PER_MINUTE = 60
export const DEFAULT_SIGNATURE_HEADER = 'x-signature'

/** What a template can name. */
type TemplateValues = { body: Json; event: string; headers: Record<string, string> }

/** The name in it may have spaces around it. */
const PLACEHOLDER = /\{\{([^{}]*)\}\}/g
const NAME = /^(body|event|headers)((?:\.[\w-]+)*)(\??)$/
/** Of the sender's keys: a template must not copy them into a message. */
const HIDDEN_HEADERS = ['authorization', 'cookie', 'proxy-authorization']

export function faultInTemplate(template: string): string | undefined {
  if (template.trim() === '') return 'The template is empty.'
  if (template.length > MAX_TEMPLATE) return `The template is longer than ${MAX_TEMPLATE} characters.`
  for (const [, inner = ''] of template.matchAll(PLACEHOLDER)) {
    const name = inner.trim()
    const [, root, rest] = NAME.exec(name) ?? []
    if (!root) return `"{{${name.slice(0, 80)}}}" is no name. Write {{body.field}}, {{event}} or {{headers.name}}.`
    if (root === 'event' && rest) return '"event" is text and has no fields.'
    if (root === 'headers' && !rest) return 'Write the header: {{headers.name}}.'
  }
  return undefined
}

type Rendered = { type: 'text'; text: string } | { type: 'fault'; reason: string }

/** A name that ends in `?` may be missing. */
export function renderTemplate(template: string, values: TemplateValues): Rendered {
  let reason: string | undefined
  let inserted = 0
  const text = template.replaceAll(PLACEHOLDER, (whole, name: string) => {
    // A large body may be named many times.
    if (inserted > MAX_MESSAGE) return ''
    const [, root, rest = '', optional] = NAME.exec(name.trim()) ?? []
    const value = root ? valueAt(values, [root, ...rest.split('.').slice(1)]) : undefined
    if (value !== undefined && value !== null) {
      const shown = typeof value === 'string' ? value : JSON.stringify(value)
      inserted += shown.length
      return shown
    }
    if (!optional) reason ??= `The template names ${whole}, which the delivery does not have.`
    return ''
  })
  if (reason) return { type: 'fault', reason }
  if (text.trim() === '') return { type: 'fault', reason: 'The template makes an empty message of this delivery.' }
  if (text.length > MAX_MESSAGE)
    return { type: 'fault', reason: `The message is longer than ${MAX_MESSAGE} characters.` }
  return { type: 'text', text }
}

function valueAt(values: TemplateValues, path: readonly string[]): Json | undefined {
  if (path[0] === 'headers' && HIDDEN_HEADERS.includes(path[1]!.toLowerCase())) return undefined
  let value: Json | undefined = values
  for (const [depth, key] of path.entries()) {
    if (value === null || typeof value !== 'object') return undefined
    const name: string = path[0] === 'headers' && depth === 1 ? key.toLowerCase() : key
    value = Object.hasOwn(value, name) ? (value as Record<string, Json>)[name] : undefined
  }
  return value
}
