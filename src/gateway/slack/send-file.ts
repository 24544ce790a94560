import { defined } from '../../core/defined.ts'
import type { CallOutcome, OutgoingFile } from '../../ports/platform.ts'
import { failed, type SlackTransport } from './transport.ts'

type Target = { channel: string; thread: string | undefined }
type WireFile = { id?: string; name?: string; title?: string }

/** A message with a file: an address for its bytes, the bytes, and its post. Only the last call can be seen by people. */
export async function sendFile(
  { call, upload }: SlackTransport,
  { channel, thread, file }: Target & { file: OutgoingFile },
  signal: AbortSignal,
): Promise<CallOutcome<{ messageId: string }>> {
  const { name, bytes } = file
  const asked = await call<{ upload_url?: string; file_id?: string }>(
    'files.getUploadURLExternal',
    { filename: name, length: bytes.length },
    signal,
  )
  if (asked.type === 'failed') return asked
  const { upload_url: url, file_id: id } = asked.result
  if (url === undefined || id === undefined)
    return failed({ kind: 'unreachable', detail: 'Slack answered without an address for the file' })
  const uploaded = await upload(url, bytes, signal)
  if (uploaded.type === 'failed') return uploaded
  const posted = await call(
    'files.completeUploadExternal',
    { files: [{ id, title: name }], channel_id: channel, ...defined({ thread_ts: thread }) },
    signal,
  )
  return posted.type === 'failed' ? posted : { type: 'done', messageId: fileKey(id) }
}

/** Slack tells the id of the file and not that of its message, which is never edited. */
const fileKey = (id: string): string => `file:${id}`

/** The message in a history with a file of this name that is none of our others. */
export function findFile(
  messages: readonly { user?: string; files?: WireFile[] }[],
  { name, user, isTaken }: { name: string; user: string | undefined; isTaken(messageId: string): boolean },
): string | undefined {
  const files = messages.filter((message) => message.user === user).flatMap(({ files = [] }) => files)
  const found = files.find(({ id, title, name: given }) => id && (title ?? given) === name && !isTaken(fileKey(id)))
  return found?.id === undefined ? undefined : fileKey(found.id)
}
