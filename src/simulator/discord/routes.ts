import { defined } from '../../core/defined.ts'
import type { ReceivedFile } from '../read-form.ts'
import { BOT, type SimulatedButton, type SimulatedMessage, type World, wireMessage } from './world.ts'

export type RouteAnswer = { status: number; body?: unknown; headers?: Record<string, string> }

type Request = { body: Record<string, unknown>; query: URLSearchParams; files?: ReceivedFile[] }
type Route = (parts: string[], request: Request, world: World) => RouteAnswer

const ok = (body: unknown): RouteAnswer => ({ status: 200, body })
export const failure = (status: number, code: number, message: string): RouteAnswer => ({
  status,
  body: { code, message },
})

const MOST_TEXT = 2_000
const MOST_UPLOAD = 10 * 1024 * 1024
/** How long a repeated nonce is recognized. */
const NONCE_MS = 180_000
const DEFER_MS = 3_000
const TOKEN_MS = 15 * 60_000

/** The REST API, as patterns of `METHOD /path`; `/gateway/bot` is in the server. */
export const ROUTES: readonly [pattern: RegExp, route: Route][] = [
  [/^GET \/users\/@me$/, () => ok(BOT)],
  [/^PUT \/applications\/\d+\/commands$/, (_, { body }) => ok(body)],
  [
    /^POST \/users\/@me\/channels$/,
    (_, { body }, { channels, directChannel }) => {
      const id = String(body.recipient_id)
      const known = [...channels.values()].find(({ recipient }) => recipient === id)
      return ok(known ?? directChannel({ id, username: id }))
    },
  ],
  [
    /^GET \/channels\/(\d+)$/,
    ([id = ''], _, { channels }) => {
      const channel = channels.get(id)
      return channel ? ok(channel) : failure(404, 10003, 'Unknown Channel')
    },
  ],
  [
    /^GET \/guilds\/(\d+)\/threads\/active$/,
    ([id = ''], _, { channels, messages }) => {
      const threads = [...channels.values()].filter((each) => each.guild_id === id && each.parent_id !== undefined)
      const lastIn = (thread: string) => messages.findLast(({ channel }) => channel.id === thread)?.id ?? null
      return ok({ threads: threads.map((each) => ({ ...each, last_message_id: lastIn(each.id) })), members: [] })
    },
  ],
  [/^GET \/channels\/(\d+)\/messages$/, listMessages],
  [/^POST \/channels\/(\d+)\/messages$/, createMessage],
  [/^PATCH \/channels\/(\d+)\/messages\/(\d+)$/, editMessage],
  [/^POST \/channels\/(\d+)\/typing$/, () => ({ status: 204 })],
  [
    /^POST \/interactions\/(\d+)\/([\w-]+)\/callback$/,
    ([, token = ''], { body }, { interactions, now, changed }) => {
      const interaction = interactions.get(token)
      if (!interaction || now() - interaction.at > DEFER_MS) return failure(404, 10062, 'Unknown interaction')
      if (interaction.isAnswered) return failure(400, 40060, 'Interaction has already been acknowledged.')
      interaction.isAnswered = true
      const { content } = (body.data ?? {}) as { content?: string }
      if (content) interaction.said.push(content)
      changed()
      return { status: 204 }
    },
  ],
  [
    /^POST \/webhooks\/(\d+)\/([\w-]+)$/,
    ([, token = ''], { body }, { interactions, now, changed }) => {
      const interaction = interactions.get(token)
      if (!interaction || now() - interaction.at > TOKEN_MS) return failure(401, 50027, 'Invalid Webhook Token')
      interaction.said.push(String(body.content))
      changed()
      return ok({ id: '1' })
    },
  ],
]

function listMessages([id = '']: string[], { query }: Request, { channels, messages }: World): RouteAnswer {
  if (!channels.has(id)) return failure(404, 10003, 'Unknown Channel')
  const limit = Math.min(Number(query.get('limit') ?? 50), 100)
  const after = query.get('after')
  const before = query.get('before')
  const all = messages
    .filter(({ channel }) => channel.id === id)
    .filter(({ id: each }) => after === null || BigInt(each) > BigInt(after))
    .filter(({ id: each }) => before === null || BigInt(each) < BigInt(before))
  const page = after === null ? all.slice(-limit) : all.slice(0, limit)
  // The nonce is told with the event only.
  return ok(page.toReversed().map((message) => Object.assign(wireMessage(message), { nonce: undefined })))
}

function createMessage([id = '']: string[], { body, files = [] }: Request, world: World): RouteAnswer {
  const channel = world.channels.get(id)
  if (!channel) return failure(404, 10003, 'Unknown Channel')
  const nonce = body.nonce === undefined ? undefined : String(body.nonce)
  if (nonce !== undefined && nonce.length > 25) return failure(400, 50035, 'Invalid Form Body: nonce')
  const isRecent = (each: SimulatedMessage) => world.now() - each.at < NONCE_MS
  const same = world.messages.find((each) => each.channel.id === id && each.nonce === nonce && isRecent(each))
  if (body.enforce_nonce === true && nonce !== undefined && same) return ok(wireMessage(same))
  if (files.some(({ bytes }) => bytes.length > MOST_UPLOAD)) return failure(413, 40005, 'Request entity too large')
  const refusal = files.length > 0 ? undefined : refusalFor(body)
  if (refusal) return refusal
  const attachments = files.map(({ name, bytes }, index) => ({ id: String(index), filename: name, bytes }))
  const message = world.newMessage({
    channel,
    author: BOT,
    content: String(body.content),
    buttons: buttonsOf(body),
    ...defined({ nonce, attachments: files.length === 0 ? undefined : attachments }),
  })
  return ok(wireMessage(message))
}

function editMessage([channel = '', id = '']: string[], { body }: Request, world: World): RouteAnswer {
  if (!world.channels.has(channel)) return failure(404, 10003, 'Unknown Channel')
  const message = world.messages.find((each) => each.id === id && each.channel.id === channel)
  if (!message) return failure(404, 10008, 'Unknown Message')
  if (message.author.id !== BOT.id) return failure(403, 50005, 'Cannot edit a message authored by another user')
  const refusal = refusalFor(body)
  if (refusal) return refusal
  message.content = String(body.content)
  message.buttons = buttonsOf(body)
  message.versions.push(message.content)
  world.changed()
  return ok(wireMessage(message))
}

function refusalFor({ content }: Record<string, unknown>): RouteAnswer | undefined {
  const text = String(content ?? '')
  if (text === '') return failure(400, 50006, 'Cannot send an empty message')
  return text.length > MOST_TEXT
    ? failure(400, 50035, 'Invalid Form Body content[BASE_TYPE_MAX_LENGTH]: Must be 2000 or fewer in length.')
    : undefined
}

type Component = { components?: { label?: string; custom_id?: string }[] }

const buttonsOf = ({ components }: Record<string, unknown>): SimulatedButton[] =>
  (Array.isArray(components) ? (components as Component[]) : [])
    .flatMap((row) => row.components ?? [])
    .map(({ label = '', custom_id = '' }) => ({ text: label, callback_data: custom_id }))
