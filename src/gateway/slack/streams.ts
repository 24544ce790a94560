import type { Progress } from '../../core/gateway/progress.ts'
import type { CallOutcome } from '../../ports/platform.ts'
import type { SlackTransport } from './transport.ts'

type StreamTarget = { channel: string; ts: string }

/** `before`: the messages of the run that are complete; `shown`: all that was appended. */
type OpenStream = { before: string; answerId: string | undefined; last: string; shown: string }

/**
 * Native streams of Slack, which show a text while it grows. They exist in threads only, end by themselves after a while, and
 * cannot take back what they showed: then the message is edited.
 */
export function newStreams({ call }: SlackTransport) {
  const open = new Map<string, OpenStream>()

  return {
    isOpen: (ts: string): boolean => open.has(ts),

    /** Undefined: Slack has no stream here, so a plain message is sent. */
    async start(
      { channel, thread, user, team }: { channel: string; thread: string; user: string; team: string },
      signal: AbortSignal,
    ): Promise<CallOutcome<{ messageId: string }> | undefined> {
      const payload = { channel, thread_ts: thread, recipient_user_id: user, recipient_team_id: team }
      const started = await call<{ ts?: string }>('chat.startStream', payload, signal)
      if (started.type === 'failed') return started.failure.kind === 'refused' ? undefined : started
      const { ts } = started.result
      if (ts === undefined) return undefined
      if (open.size >= MOST_OPEN) open.clear()
      open.set(ts, { before: '', answerId: undefined, last: '', shown: '' })
      return { type: 'done', messageId: ts }
    },

    /** Appends what is new. Undefined: the stream is over, or what it showed is not true any more. */
    async append(
      { channel, ts }: StreamTarget,
      progress: Progress,
      signal: AbortSignal,
    ): Promise<CallOutcome | undefined> {
      const stream = open.get(ts)
      if (!stream) return undefined
      if (progress.answerId !== stream.answerId && progress.answerId !== undefined) {
        stream.before = stream.last === '' ? '' : `${stream.before}${stream.last}\n\n`
        stream.answerId = progress.answerId
      }
      stream.last = progress.text
      const text = stream.before + progress.text
      if (!text.startsWith(stream.shown)) {
        await this.stop({ channel, ts }, signal)
        return undefined
      }
      const added = text.slice(stream.shown.length)
      if (added === '') return { type: 'done' }
      const appended = await call('chat.appendStream', { channel, ts, markdown_text: added }, signal)
      if (appended.type === 'done') stream.shown = text
      else if (appended.failure.kind !== 'rate-limited') open.delete(ts)
      return appended.type === 'failed' && appended.failure.kind !== 'rate-limited' ? undefined : appended
    },

    /** A stream that is over already is as good. */
    async stop({ channel, ts }: StreamTarget, signal: AbortSignal): Promise<void> {
      open.delete(ts)
      await call('chat.stopStream', { channel, ts }, signal)
    },
  }
}

const MOST_OPEN = 1_000
