import type { Json } from '../core/json.ts'
import { WorkspaceError } from '../ports/workspaces.ts'
import type { AnswerEnvelope, SupervisorFault, SupervisorQuestion } from './protocol.ts'
import { MAX_LINE_BYTES, newLineReader } from './supervisor/lines.ts'
import { connectTo } from './unix-socket.ts'

/** The other end is gone or silent: what was asked may or may not have happened. */
export class ConnectionLost extends Error {}

export type SupervisorConnection = {
  ask(question: SupervisorQuestion, options?: { signal?: AbortSignal; patienceMs?: number }): Promise<Json>
  close(): void
  /** Resolves when it is over, whoever ended it. */
  closed: Promise<void>
}

type PendingQuestion = {
  resolve(answer: Json): void
  reject(fault: Error): void
  timer: NodeJS.Timeout | undefined
  done(): void
}

/** How long each kind of question may take; what waits for a command takes as long as that does. */
const PATIENCE_MS: Record<SupervisorQuestion['type'], number> = {
  hello: 15_000,
  start: 30_000,
  processes: 30_000,
  process: 30_000,
  'find-by-key': 30_000,
  wait: 0,
  forget: 0,
  output: 30_000,
  write: 30_000,
  detach: 30_000,
  kill: 30_000,
  'end-of': 30_000,
  usage: 60_000,
  file: 120_000,
  end: 30_000,
  rest: 30_000,
}

/** Without anything asked; the supervisor then may go to sleep. */
const IDLE_MS = 30_000

/** What comes from in there is believed as far as its form goes, and no further: an agent's command may have made it. */
export async function connect(path: string): Promise<SupervisorConnection> {
  const socket = connectTo(path)
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve)
    socket.once('error', reject)
  })
  const pending = new Map<number, PendingQuestion>()
  let last = 0
  let idle: NodeJS.Timeout | undefined
  const { promise: closed, resolve: close } = Promise.withResolvers<void>()

  const read = newLineReader(MAX_LINE_BYTES, (line) => {
    const answered = parsed(line)
    if (!answered) return void socket.destroy()
    const waiting = pending.get(answered.id)
    if (!waiting) return
    settle(answered.id)
    if ('fault' in answered) waiting.reject(faultFrom(answered.fault, answered.message))
    else waiting.resolve(answered.answer ?? null)
  })
  socket.on('data', (chunk) => {
    if (read(chunk) === 'too-long') socket.destroy()
  })
  socket.on('error', () => socket.destroy())
  socket.on('close', () => {
    clearTimeout(idle)
    for (const [id, waiting] of [...pending]) {
      settle(id)
      waiting.reject(new ConnectionLost('the workspace went away'))
    }
    clearTimeout(idle)
    close()
  })
  rest()

  function settle(id: number): void {
    clearTimeout(pending.get(id)?.timer)
    pending.get(id)?.done()
    pending.delete(id)
    if (pending.size === 0) rest()
  }

  /** Nothing is awaited: it keeps no process alive, and is let go of after a while. */
  function rest(): void {
    socket.unref()
    clearTimeout(idle)
    idle = setTimeout(() => socket.destroy(), IDLE_MS)
    idle.unref()
  }

  return {
    closed,
    close: () => void socket.destroy(),
    ask(ask, { signal, patienceMs: patience = PATIENCE_MS[ask.type] } = {}) {
      if (socket.destroyed) return Promise.reject(new ConnectionLost('the workspace went away'))
      const id = ++last
      clearTimeout(idle)
      socket.ref()
      return new Promise<Json>((resolve, reject) => {
        // Silent for so long, it is stopped or worse: whoever asks next makes sure.
        const timer = patience > 0 ? setTimeout(() => socket.destroy(), patience) : undefined
        const done = () => signal?.removeEventListener('abort', onAbort)
        pending.set(id, { resolve, reject, timer, done })
        socket.write(`${JSON.stringify({ id, ask })}\n`)
        const onAbort = () => {
          if (!pending.has(id)) return
          settle(id)
          socket.write(`${JSON.stringify({ id: ++last, ask: { type: 'forget', question: id } })}\n`)
          reject(signal?.reason)
        }
        signal?.addEventListener('abort', onAbort, { once: true })
        if (signal?.aborted) onAbort()
      })
    },
  }
}

const FAULTS: ReadonlySet<string> = new Set<SupervisorFault>(['unknown-process', 'unavailable'])

function faultFrom(fault: string, message: unknown): WorkspaceError {
  const known = FAULTS.has(fault) ? (fault as SupervisorFault) : 'unavailable'
  return new WorkspaceError(known, String(message).slice(0, 1000))
}

function parsed(line: string): AnswerEnvelope | undefined {
  try {
    const answered = JSON.parse(line) as AnswerEnvelope
    return typeof answered?.id === 'number' ? answered : undefined
  } catch {
    return undefined
  }
}
