import type { Socket } from 'node:net'
import type { Json } from '../../core/json.ts'
import type { AnswerEnvelope, QuestionEnvelope } from '../protocol.ts'
import { MAX_LINE_BYTES, newLineReader } from './lines.ts'
import { type RequestHandler, SupervisorError } from './request-handler.ts'

/** One connection of a server: questions in, answers out, in whatever order they are ready. */
export function serveClient(socket: Socket, { desk, onLeave }: { desk: RequestHandler; onLeave(): void }): void {
  const forgotten = new Set<number>()
  const open = new Set<number>()

  const read = newLineReader(MAX_LINE_BYTES, (line) => {
    const asked = parsed(line)
    if (!asked) return void socket.destroy()
    if (asked.ask.type === 'forget') {
      if (open.has(asked.ask.question)) forgotten.add(asked.ask.question)
      return
    }
    open.add(asked.id)
    void answer(asked)
  })

  async function answer({ id, ask }: QuestionEnvelope): Promise<void> {
    let reply: AnswerEnvelope
    try {
      reply = { id, answer: (await desk.answer(ask)) as Json }
    } catch (fault) {
      const { message } = fault as Error
      reply = { id, fault: fault instanceof SupervisorError ? fault.fault : 'unavailable', message }
    }
    open.delete(id)
    if (forgotten.delete(id) || socket.destroyed) return
    socket.write(`${JSON.stringify(reply)}\n`)
  }

  socket.on('data', (chunk) => {
    if (read(chunk) === 'too-long') socket.destroy()
  })
  socket.on('error', () => socket.destroy())
  socket.on('close', onLeave)
}

function parsed(line: string): QuestionEnvelope | undefined {
  try {
    const asked = JSON.parse(line) as QuestionEnvelope
    return typeof asked.id === 'number' && typeof asked.ask?.type === 'string' ? asked : undefined
  } catch {
    return undefined
  }
}
