import { mkdir, open } from 'node:fs/promises'
import { join } from 'node:path'
import { newKeyedMutex } from '../../core/mutex.ts'
import { syncFolder } from '../../disk/atomic-write.ts'
import { readIfPresent } from '../../disk/read-if-present.ts'
import type { Tool, ToolAnswer } from '../../ports/tool.ts'
import type { BuiltinToolDeps } from '../builtin/builtin-tool-deps.ts'
import { defineTool, failure, success } from '../define-tool.ts'

type Postcard = { to: string; message: string }

/** A demo of effects that cannot be undone but can be verified, such as mail, payments or tickets. */
export function sendPostcard({ clock, home }: Pick<BuiltinToolDeps, 'clock' | 'home'>): Tool {
  const mutex = newKeyedMutex()
  const outbox = join(home, 'outbox.jsonl')
  return defineTool<Postcard>({
    name: 'send_postcard',
    description: 'Sends a postcard. A person has to agree first.',
    inputSchema: {
      type: 'object',
      properties: {
        to: { type: 'string', minLength: 1, maxLength: 200 },
        message: { type: 'string', minLength: 1, maxLength: 2_000 },
      },
      required: ['to', 'message'],
      additionalProperties: false,
    },
    effects: 'verifiable',
    needsApproval: true,
    run: async (postcard, { idempotencyKey, signal }) => {
      if (signal.aborted) return failure('Stopped before the postcard was sent.')
      const line = JSON.stringify({ key: idempotencyKey, at: clock.now(), ...postcard })
      await mkdir(home, { recursive: true, mode: 0o700 })
      await mutex(outbox, () => appendLine(outbox, line))
      await syncFolder(home)
      return sentAnswer(postcard)
    },
    verify: async (postcard, { idempotencyKey }) => {
      const lines = ((await readIfPresent(outbox)) ?? '').split('\n')
      const isDone = lines.some((line) => keyOf(line) === idempotencyKey)
      return isDone ? { type: 'done', answer: sentAnswer(postcard) } : { type: 'not-done' }
    },
  })
}

const sentAnswer = ({ to }: Postcard): ToolAnswer => success(`The postcard to ${to} is in the outbox.`)

/** A line cut short by a crash was never sent, so it has no key. */
function keyOf(line: string): string | undefined {
  try {
    return (JSON.parse(line) as { key?: string }).key
  } catch {
    return undefined
  }
}

async function appendLine(path: string, line: string): Promise<void> {
  const file = await open(path, 'a+', 0o600)
  try {
    const { size } = await file.stat()
    const last = size > 0 ? (await file.read(Buffer.alloc(1), 0, 1, size - 1)).buffer.toString() : '\n'
    // Start on a new line: a crash may have left half a line.
    await file.appendFile(last === '\n' ? `${line}\n` : `\n${line}\n`)
    await file.sync()
  } finally {
    await file.close()
  }
}
