import type { Socket } from 'node:net'
import type { Json } from '../../core/json.ts'
import type { Answered, Asked } from '../protocol.ts'
import { type Desk, Refusal } from './desk.ts'
import { MAX_LINE_BYTES, newLineReader } from './lines.ts'

/** One connection of a server: questions in, answers out, in whatever order they are ready. */
export function serveClient(socket: Socket, { desk, onLeave }: { desk: Desk; onLeave(): void }): void {
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

  async function answer({ id, ask }: Asked): Promise<void> {
    let reply: Answered
    try {
      reply = { id, answer: (await desk.answer(ask)) as Json }
    } catch (fault) {
      const { message } = fault as Error
      reply = { id, fault: fault instanceof Refusal ? fault.fault : 'unavailable', message }
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

function parsed(line: string): Asked | undefined {
  try {
    const asked = JSON.parse(line) as Asked
    return typeof asked.id === 'number' && typeof asked.ask?.type === 'string' ? asked : undefined
  } catch {
    return undefined
  }
}
