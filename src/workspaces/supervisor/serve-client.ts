import type { Socket } from 'node:net'
import type { Json } from '../../core/json.ts'
import type { AnswerEnvelope, QuestionEnvelope } from '../protocol.ts'
import { MAX_LINE_BYTES, newLineReader } from './lines.ts'
import { type RequestHandler, SupervisorError } from './request-handler.ts'

/** Serves one connection: answers are sent in the order in which they are ready. */
export function serveClient(socket: Socket, { handler, onClose }: { handler: RequestHandler; onClose(): void }): void {
  const abandoned = new Set<number>()
  const open = new Set<number>()

  const read = newLineReader(MAX_LINE_BYTES, (line) => {
    const envelope = parseQuestion(line)
    if (!envelope) return void socket.destroy()
    if (envelope.ask.type === 'forget') {
      if (open.has(envelope.ask.question)) abandoned.add(envelope.ask.question)
      return
    }
    if (envelope.ask.type === 'connect') return void relay(envelope.id, envelope.ask.port)
    open.add(envelope.id)
    void answer(envelope)
  })

  async function answer({ id, ask }: QuestionEnvelope): Promise<void> {
    let reply: AnswerEnvelope
    try {
      reply = { id, answer: (await handler.answer(ask)) as Json }
    } catch (fault) {
      const { message } = fault as Error
      reply = { id, fault: fault instanceof SupervisorError ? fault.fault : 'unavailable', message }
    }
    open.delete(id)
    if (abandoned.delete(id) || socket.destroyed) return
    socket.write(`${JSON.stringify(reply)}\n`)
  }

  /** From the answer on, this connection belongs to a port inside the workspace. */
  async function relay(id: number, port: number): Promise<void> {
    try {
      const inside = await handler.connectTo(port)
      inside.on('error', () => socket.destroy())
      inside.on('close', () => socket.destroy())
      socket.on('close', () => inside.destroy())
      socket.off('data', onData)
      socket.write(`${JSON.stringify({ id, answer: 'connected' })}\n`)
      socket.pipe(inside).pipe(socket)
    } catch (fault) {
      socket.end(`${JSON.stringify({ id, fault: 'unavailable', message: (fault as Error).message })}\n`)
    }
  }

  function onData(chunk: Buffer): void {
    if (read(chunk) === 'too-long') socket.destroy()
  }

  socket.on('data', onData)
  socket.on('error', () => socket.destroy())
  socket.on('close', onClose)
}

function parseQuestion(line: string): QuestionEnvelope | undefined {
  try {
    const envelope = JSON.parse(line) as QuestionEnvelope
    return typeof envelope.id === 'number' && typeof envelope.ask?.type === 'string' ? envelope : undefined
  } catch {
    return undefined
  }
}
