import { defined } from '../../core/defined.ts'

export type SimulatedUser = { id: string; username: string; bot?: boolean }
export type SimulatedChannel = { id: string; type: number; guild_id?: string; parent_id?: string; recipient?: string }
export type SimulatedButton = { text: string; callback_data: string }

/** A message as people see it now. `versions` are all texts it had. */
export type SimulatedMessage = {
  id: string
  channel: SimulatedChannel
  author: SimulatedUser
  content: string
  versions: string[]
  buttons: SimulatedButton[]
  nonce?: string
  replyTo?: string
  attachments?: SimulatedAttachment[]
  at: number
}

/** What people see of a file: with its bytes, if the bot sent it. */
type SimulatedAttachment = { filename: string; bytes?: Uint8Array } & Record<string, unknown>

/** One call of a bot, with its effect and whether its answer reached the bot. */
export type SimulatedCall = {
  at: number
  method: string
  path: string
  body: Record<string, unknown>
  isAccepted: boolean
  isAnswered: boolean
  status: number
}

type Interaction = { id: string; token: string; at: number; isAnswered: boolean; said: string[] }

type SayOptions = {
  user?: SimulatedUser
  channel?: SimulatedChannel
  replyTo?: SimulatedMessage
  attachments?: SimulatedAttachment[]
}

export const BOT: SimulatedUser = { id: '900000000000000001', username: 'holdfast', bot: true }
export const ADA: SimulatedUser = { id: '100000000000001001', username: 'Ada' }
export const GUILD = '700000000000000001'
const EPOCH_MS = 1_420_070_400_000

/** The state of a simulated Discord with one server and one bot. */
export function newWorld({ now = Date.now }: { now?: () => number } = {}) {
  const messages: SimulatedMessage[] = []
  const calls: SimulatedCall[] = []
  const channels = new Map<string, SimulatedChannel>()
  const interactions = new Map<string, Interaction>()
  const files = new Map<string, Uint8Array>()
  const listeners = new Set<() => void>()
  const deliverers = new Set<(type: string, data: Record<string, unknown>) => void>()
  let lastId = 0n
  let nextDirect = 1

  const changed = (): void => {
    for (const listener of [...listeners]) listener()
  }

  function newId(): string {
    const id = BigInt(Math.max(0, Math.floor(now() - EPOCH_MS))) << 22n
    lastId = id > lastId ? id : lastId + 1n
    return String(lastId)
  }

  function deliver(type: string, data: Record<string, unknown>): void {
    for (const deliverer of [...deliverers]) deliverer(type, data)
    changed()
  }

  function directChannel(user: SimulatedUser): SimulatedChannel {
    const known = [...channels.values()].find(({ recipient }) => recipient === user.id)
    if (known) return known
    const channel = { id: `80000000000000${String(nextDirect++).padStart(4, '0')}`, type: 1, recipient: user.id }
    channels.set(channel.id, channel)
    return channel
  }

  function newMessage(fields: Omit<SimulatedMessage, 'id' | 'versions' | 'at'>): SimulatedMessage {
    channels.set(fields.channel.id, fields.channel)
    const message: SimulatedMessage = { id: newId(), versions: [fields.content], at: now(), ...fields }
    messages.push(message)
    // Bots receive their own messages, too.
    deliver('MESSAGE_CREATE', { ...wireMessage(message), ...defined({ guild_id: fields.channel.guild_id }) })
    return message
  }

  /** A person writes. */
  function say(content: string, options: SayOptions = {}): SimulatedMessage {
    const { user = ADA, channel = directChannel(user), replyTo, attachments } = options
    return newMessage({
      channel,
      author: user,
      content,
      buttons: [],
      ...defined({ replyTo: replyTo?.id, attachments }),
    })
  }

  function interact(
    fields: Record<string, unknown>,
    { channel, user }: { channel: SimulatedChannel; user: SimulatedUser },
  ) {
    const interaction = { id: newId(), token: `token-${interactions.size + 1}`, at: now(), isAnswered: false, said: [] }
    interactions.set(interaction.token, interaction)
    const { guild_id } = channel
    deliver('INTERACTION_CREATE', {
      id: interaction.id,
      token: interaction.token,
      application_id: BOT.id,
      channel_id: channel.id,
      ...defined({
        guild_id,
        user: guild_id === undefined ? user : undefined,
        member: guild_id === undefined ? undefined : { user },
      }),
      ...fields,
    })
    return interaction
  }

  return {
    messages,
    calls,
    channels,
    interactions,
    files,
    now,
    newId,
    directChannel,
    deliver,
    newMessage,
    say,
    changed,
    /** A person uses a slash command. */
    command: (name: string, options: { value?: string; user?: SimulatedUser; channel?: SimulatedChannel } = {}) => {
      const { user = ADA, channel = directChannel(user), value } = options
      const data = { name, ...defined({ options: value === undefined ? undefined : [{ name: 'value', value }] }) }
      return interact({ type: 2, data }, { channel, user })
    },
    /** A person presses a button of a message. */
    press: (message: SimulatedMessage, custom_id: string, user: SimulatedUser = ADA) =>
      interact({ type: 3, message: { id: message.id }, data: { custom_id } }, { channel: message.channel, user }),
    onDelivery(deliverer: (type: string, data: Record<string, unknown>) => void): () => void {
      deliverers.add(deliverer)
      return () => deliverers.delete(deliverer)
    },
    listen(listener: () => void): () => void {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

export type World = ReturnType<typeof newWorld>

export function wireMessage(message: SimulatedMessage): Record<string, unknown> {
  const { id, channel, author, content, nonce, replyTo, attachments } = message
  const mentions = [...content.matchAll(/<@!?(\d+)>/g)].map((match) => ({ id: match[1], username: `user-${match[1]}` }))
  const answered = replyTo === undefined ? undefined : { id: replyTo, author: { id: BOT.id } }
  return {
    id,
    type: replyTo === undefined ? 0 : 19,
    channel_id: channel.id,
    author,
    content,
    mentions,
    attachments: attachments?.map(({ bytes: _, ...file }) => file) ?? [],
    ...defined({ nonce, referenced_message: answered }),
  }
}
