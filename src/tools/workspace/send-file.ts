import { MOST_FILE_BYTES, MOST_FILES, mediaTypeOf, megabytes, safeName } from '../../core/gateway/chat-file.ts'
import { DEFAULT_ORGANIZATION } from '../../core/id.ts'
import type { Clock } from '../../ports/clock.ts'
import type { GatewayStore } from '../../ports/gateway-store.ts'
import type { Tool } from '../../ports/tool.ts'
import { WorkspaceError, type Workspaces } from '../../ports/workspaces.ts'
import { defineTool, failure, success } from '../define-tool.ts'

type SendFileDeps = {
  workspaces: Pick<Workspaces, 'open'>
  chats: Pick<GatewayStore, 'isOfChat' | 'addFile'>
  clock: Clock
}

type SendFileInput = { path: string; name?: string }

const DESCRIPTION = `Sends a file of your workspace to the chat in which you are talking (Telegram, Slack, Discord and the like). People receive it with your answer of this turn, as it is now: changing or removing it later has no effect. Images are shown. At most ${megabytes(MOST_FILE_BYTES)} a file and ${MOST_FILES} files a turn.`

export const sendFile = ({ workspaces, chats, clock }: SendFileDeps): Tool =>
  defineTool<SendFileInput>({
    name: 'send_file',
    description: DESCRIPTION,
    inputSchema: {
      type: 'object',
      properties: {
        path: { type: 'string', description: 'The file, relative to the workspace or absolute inside it.' },
        name: { type: 'string', description: 'The name people see; that of the file when left out.' },
      },
      required: ['path'],
      additionalProperties: false,
    },
    // The bytes are stored under the key of the call.
    effects: 'idempotent',
    async run(
      { path, name },
      { conversationId, organizationId = DEFAULT_ORGANIZATION, runId, callId, idempotencyKey },
    ) {
      if (!(await chats.isOfChat(organizationId, conversationId)))
        return failure('This conversation is not one of a chat platform, so there is no chat to send a file to.')
      const loaded = await load(workspaces, { conversationId, path })
      if ('fault' in loaded) return failure(loaded.fault)
      const { content } = loaded
      if (content.length === 0) return failure(`${JSON.stringify(path)} is empty, and chats take no empty files.`)
      const shown = safeName(name ?? path.split('/').at(-1) ?? '')
      const file = {
        id: idempotencyKey,
        organizationId,
        conversationId,
        runId,
        callId,
        name: shown,
        mediaType: mediaTypeOf(shown),
        bytes: content.length,
        createdAt: clock.now(),
      }
      if ((await chats.addFile(file, content, MOST_FILES)) === 'too-many')
        return failure(`This turn sends ${MOST_FILES} files already. Put several into an archive.`)
      return success(
        `${shown} (${content.length} bytes) goes to the chat with your answer, unless the chat hears only answers to its own messages.`,
      )
    },
  })

type Wanted = { conversationId: Parameters<Workspaces['open']>[0]; path: string }

async function load(
  workspaces: SendFileDeps['workspaces'],
  { conversationId, path }: Wanted,
): Promise<{ content: Uint8Array } | { fault: string }> {
  try {
    const { files } = await workspaces.open(conversationId)
    const answer = await files.load(path, MOST_FILE_BYTES)
    return answer.type === 'fault' ? { fault: answer.message } : answer
  } catch (error) {
    if (!(error instanceof WorkspaceError)) throw error
    return { fault: error.message }
  }
}
