import type { Json } from '../core/json.ts'
import { WorkspaceError } from '../ports/workspaces.ts'
import type { AnswerEnvelope, SupervisorFault, SupervisorQuestion } from './protocol.ts'
import { MAX_LINE_BYTES, newLineReader } from './supervisor/lines.ts'
import { connectTo } from './unix-socket.ts'

/** The supervisor is gone or silent: the question may or may not have taken effect. */
export class ConnectionLost extends Error {}

export type SupervisorConnection = {
  ask(question: SupervisorQuestion, options?: { signal?: AbortSignal; timeoutMs?: number }): Promise<Json>
  close(): void
  /** Resolves when the connection is closed, by either end. */
  closed: Promise<void>
}

type PendingQuestion = {
  resolve(answer: Json): void
  reject(fault: Error): void
  timer: NodeJS.Timeout | undefined
  done(): void
}

/** Timeout of each kind of question; 0 is none, for questions that wait for a command. */
const TIMEOUT_MS: Record<SupervisorQuestion['type'], number> = {
  hello: 15_000,
  start: 30_000,
  'start-program': 30_000,
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
  ports: 30_000,
  connect: 15_000,
  file: 120_000,
  end: 30_000,
  rest: 30_000,
}

/** An idle connection is closed after this time, so that the supervisor can go to sleep. */
const IDLE_MS = 30_000

/** Answers are untrusted: an agent's command may have forged them. Only their form is checked here. */
export async function connect(path: string): Promise<SupervisorConnection> {
  const socket = connectTo(path)
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve)
    socket.once('error', reject)
  })
  const pending = new Map<number, PendingQuestion>()
  let lastId = 0
  let idle: NodeJS.Timeout | undefined
  const { promise: closed, resolve: close } = Promise.withResolvers<void>()

  const read = newLineReader(MAX_LINE_BYTES, (line) => {
    const answered = parseAnswer(line)
    if (!answered) return void socket.destroy()
    const waiting = pending.get(answered.id)
    if (!waiting) return
    settle(answered.id)
    if ('fault' in answered) waiting.reject(toWorkspaceError(answered.fault, answered.message))
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
      waiting.reject(new ConnectionLost('the connection to the workspace supervisor was closed'))
    }
    clearTimeout(idle)
    close()
  })
  startIdleTimer()

  function settle(id: number): void {
    clearTimeout(pending.get(id)?.timer)
    pending.get(id)?.done()
    pending.delete(id)
    if (pending.size === 0) startIdleTimer()
  }

  /** With no question open, the socket does not keep the process alive, and closes after IDLE_MS. */
  function startIdleTimer(): void {
    socket.unref()
    clearTimeout(idle)
    idle = setTimeout(() => socket.destroy(), IDLE_MS)
    idle.unref()
  }

  return {
    closed,
    close: () => void socket.destroy(),
    ask(ask, { signal, timeoutMs = TIMEOUT_MS[ask.type] } = {}) {
      if (socket.destroyed)
        return Promise.reject(new ConnectionLost('the connection to the workspace supervisor was closed'))
      const id = ++lastId
      clearTimeout(idle)
      socket.ref()
      return new Promise<Json>((resolve, reject) => {
        // A supervisor that is silent for so long is stopped or broken; the next question connects again and finds out.
        const timer = timeoutMs > 0 ? setTimeout(() => socket.destroy(), timeoutMs) : undefined
        const done = () => signal?.removeEventListener('abort', onAbort)
        pending.set(id, { resolve, reject, timer, done })
        socket.write(`${JSON.stringify({ id, ask })}\n`)
        const onAbort = () => {
          if (!pending.has(id)) return
          settle(id)
          socket.write(`${JSON.stringify({ id: ++lastId, ask: { type: 'forget', question: id } })}\n`)
          reject(signal?.reason)
        }
        signal?.addEventListener('abort', onAbort, { once: true })
        if (signal?.aborted) onAbort()
      })
    },
  }
}

const FAULTS: ReadonlySet<string> = new Set<SupervisorFault>(['unknown-process', 'missing-program', 'unavailable'])

function toWorkspaceError(fault: string, message: unknown): WorkspaceError {
  const known = FAULTS.has(fault) ? (fault as SupervisorFault) : 'unavailable'
  return new WorkspaceError(known, String(message).slice(0, 1000))
}

function parseAnswer(line: string): AnswerEnvelope | undefined {
  try {
    const answered = JSON.parse(line) as AnswerEnvelope
    return typeof answered?.id === 'number' ? answered : undefined
  } catch {
    return undefined
  }
}
