import type { TestContext } from 'node:test'
import { realClock } from '../../src/config/real-clock.ts'
import type { InputPart } from '../../src/core/message.ts'
import type { ModelRequest } from '../../src/ports/model.ts'
import type { Tool } from '../../src/ports/tool.ts'
import type { Workspaces } from '../../src/ports/workspaces.ts'
import type { Script } from '../../src/providers/scripted/script.ts'
import type { CallFault } from '../../src/simulator/call-fault.ts'
import { sendFile } from '../../src/tools/workspace/send-file.ts'
import type { HomeFixture, HomeFixtureOptions } from '../harness/fixture-home.ts'
import { openFilesFixture } from '../workspaces/fixture-files.ts'
import { openDiscordFixture } from './fixture-discord.ts'
import { openGatewayFixture } from './fixture-gateway.ts'
import { openSlackFixture } from './fixture-slack.ts'

type SentFile = { name: string; bytes: Uint8Array }

export type FilePlatform = {
  fixture: HomeFixture
  server: { listen(listener: () => void): () => void }
  /** A person sends a file. */
  sendFile(name: string, bytes: Uint8Array, mediaType?: string): void
  say(text: string): void
  /** Files in the private chat, from the bot. */
  files(): SentFile[]
  texts(): string[]
  /** What happens to the next calls that send a file. */
  setFault(fault: () => CallFault | undefined): void
  stop(): Promise<void>
  start(): void
}

type Open = (context: TestContext, home: HomeFixtureOptions) => Promise<FilePlatform>

const openTelegram: Open = async (context, home) => {
  const { telegram, fixture, said, stop, start } = await openGatewayFixture(context, { home })
  return {
    fixture,
    server: telegram,
    stop,
    start,
    say: (text) => void telegram.say(text),
    sendFile(name, bytes, mediaType) {
      const { id } = telegram.addFile(bytes)
      const document = { file_id: id, file_name: name, mime_type: mediaType, file_size: bytes.length }
      telegram.say('', { extra: { document } })
    },
    files: () => telegram.messages.flatMap(({ from, file }) => (from.is_bot && file ? [file] : [])),
    texts: () => said().filter((text) => text !== ''),
    setFault: (fault) => telegram.setFault(({ method }) => (method === 'editMessageMedia' ? fault() : undefined)),
  }
}

const openSlack: Open = async (context, home) => {
  const { slack, fixture, said, stop, start } = await openSlackFixture(context, { home })
  return {
    fixture,
    server: slack,
    stop,
    start,
    say: (text) => void slack.say(text),
    sendFile(name, bytes, mimetype) {
      const id = `IN${slack.files.size}`
      slack.files.set(id, bytes)
      const url_private_download = `${slack.url}/files/${id}`
      slack.say('', { files: [{ id, name, mimetype, size: bytes.length, url_private_download }] })
    },
    files: () =>
      slack.messages.flatMap(({ isBot, files = [] }) =>
        isBot ? files.map(({ title, name, bytes }) => ({ name: title ?? name, bytes: bytes! })) : [],
      ),
    texts: () => said(),
    setFault: (fault) =>
      slack.setFault(({ method }) => (method === 'files.completeUploadExternal' ? fault() : undefined)),
  }
}

const openDiscord: Open = async (context, home) => {
  const { discord, fixture, said, connected, stop, start } = await openDiscordFixture(context, { home })
  await connected()
  const files = () =>
    discord.messages.flatMap(({ author, attachments = [] }) =>
      author.bot ? attachments.map(({ filename, bytes }) => ({ name: filename, bytes: bytes! })) : [],
    )
  return {
    fixture,
    server: discord,
    stop,
    start,
    files,
    say: (text) => void discord.say(text),
    sendFile(name, bytes, content_type) {
      const id = `in-${discord.files.size}`
      discord.files.set(id, bytes)
      const url = `${discord.url}/files/${id}`
      discord.say('', { attachments: [{ id, filename: name, content_type, size: bytes.length, url }] })
    },
    texts: () => said().filter((text) => !text.startsWith('📎')),
    setFault: (fault) =>
      discord.setFault(({ method, path }) => (method === 'POST' && path.endsWith('/messages') ? fault() : undefined)),
  }
}

export const FILE_PLATFORMS: Readonly<Record<string, Open>> = {
  Telegram: openTelegram,
  Slack: openSlack,
  Discord: openDiscord,
}

type Options = {
  open: Open
  script(request: ModelRequest): Script
  /** Real workspaces. Without them, the file operations of one work on a plain folder. */
  workspaces?: Workspaces
}

/** An agent with the tool for files, in a chat of a simulated platform. */
export async function openFileChat(context: TestContext, { open, script, workspaces }: Options) {
  const folder = openFilesFixture(context)
  const rooms = workspaces ?? ({ open: async () => ({ files: folder.files }) } as unknown as Workspaces)
  const current: { home?: HomeFixture } = {}
  const gateway = () => current.home!.context.deps.store.gateway
  const tool: Tool = sendFile({
    workspaces: rooms,
    clock: realClock,
    chats: {
      isOfChat: (...given) => gateway().isOfChat(...given),
      addFile: (...given) => gateway().addFile(...given),
    },
  })
  const chat = await open(context, { script, tools: [tool], workspaces: rooms })
  current.home = chat.fixture
  return { chat, folder, call: (input: object) => tool.run(input as never, callOf(chat.fixture)) }
}

/** A call in a conversation that is not one of a chat. */
const callOf = ({ agent, conversationId }: HomeFixture) => ({
  agentId: agent.id,
  conversationId,
  runId: 'run-1' as const,
  callId: 'call-1',
  idempotencyKey: 'key-1',
  signal: AbortSignal.timeout(60_000),
  progress: () => undefined,
})

/** The words that the model was shown last. */
export function shown(requests: readonly ModelRequest[]): string {
  const body = requests.at(-1)?.messages.findLast(({ role }) => role === 'user')
  const content: readonly InputPart[] = body && 'content' in body ? (body.content as InputPart[]) : []
  return content.map((part) => (part.type === 'text' ? part.text : `[${part.type}]`)).join('\n')
}

/** The agent sends this file and answers. */
export const sending = (path: string, name?: string) => [
  { calls: [{ tool: 'send_file', input: name === undefined ? { path } : { path, name } }] },
  { text: 'Here it is.' },
]
