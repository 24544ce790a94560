import type { Chunk } from '../../core/chunk.ts'
import type { LiveRegion } from '../live/live-region.ts'
import { type Look, shortened } from '../terminal.ts'
import { afterChunk, newTurnStatus, statusLine, type TurnStatus } from './turn-status.ts'

/** What a running turn does, in a row that is redrawn. */
export type StatusRow = {
  begin(target: string): void
  take(chunk: Chunk): void
  cancelling(): void
  /** Messages that wait for their turn. */
  showQueued(messages: readonly string[]): void
  end(): void
}

/** Without a terminal nothing is redrawn. */
export const NO_STATUS_ROW: StatusRow = {
  begin: () => {},
  take: () => {},
  cancelling: () => {},
  showQueued: () => {},
  end: () => {},
}

const TICK_MS = 100

export function newStatusRow(region: LiveRegion, look: () => Look): StatusRow {
  let status: TurnStatus | undefined
  let queued: readonly string[] = []
  let timer: NodeJS.Timeout | undefined

  const draw = () => {
    const { paint, width } = look()
    const waiting = queued.map((text) => paint.dim(shortened(`  queued: ${text.replaceAll('\n', ' ')}`, width)))
    region.show('status', status ? [...waiting, statusLine(status, Date.now(), look())] : [])
  }
  return {
    begin(target) {
      status = newTurnStatus(target, Date.now())
      timer ??= setInterval(draw, TICK_MS)
      draw()
    },
    take(chunk) {
      if (status) status = afterChunk(status, chunk, Date.now())
    },
    cancelling() {
      if (status) status = { ...status, phase: { type: 'cancelling' } }
      draw()
    },
    showQueued(messages) {
      queued = messages
      draw()
    },
    end() {
      clearInterval(timer)
      timer = undefined
      status = undefined
      draw()
    },
  }
}
