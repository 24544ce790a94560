import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { NumberedChunk } from '../../src/core/chunk.ts'
import { pause, readEvents, StreamRefused } from '../api.ts'
import { present } from '../times.ts'
import { untilVisible, whileVisible } from '../visibility.ts'
import { addChunk, type LiveTurn, newLiveTurn } from './items.ts'

const RETRY_MS = 500

/** The live view of a run: read from its first chunk, and after a lost connection from the last one that was seen. */
export function useLiveRun(runId: string | undefined, onDone: () => void) {
  // The turn is changed in place; the number makes the page draw again.
  const view = useSignal<{ turn: LiveTurn; version: number }>({ turn: newLiveTurn(), version: 0 })
  useEffect(() => {
    const turn = newLiveTurn()
    view.value = { turn, version: 0 }
    if (runId === undefined) return
    const stop = new AbortController()
    let frame = 0
    const draw = () => {
      frame ||= requestAnimationFrame(() => {
        frame = 0
        view.value = { turn, version: view.value.version + 1 }
      })
    }
    void follow(runId, stop.signal, ({ chunk }) => {
      addChunk(turn, chunk, present())
      draw()
    }).then(() => {
      if (!stop.signal.aborted) onDone()
    })
    return () => {
      stop.abort()
      cancelAnimationFrame(frame)
    }
  }, [runId])
  return view.value.turn
}

/** Calls the listener after each commit of a run that is going on: its stream names the event that each chunk renders. */
export function useRunCommits(runId: string | undefined, onCommit: () => void): void {
  useEffect(() => {
    if (runId === undefined) return
    const stop = new AbortController()
    let last = 0
    void follow(runId, stop.signal, ({ event }) => {
      if (event <= last) return
      last = event
      onCommit()
    })
    return () => stop.abort()
  }, [runId])
}

/** Resolves when the run has said its last word. */
async function follow(runId: string, stop: AbortSignal, take: (chunk: NumberedChunk) => void): Promise<void> {
  let last = 0
  while (!stop.aborted) {
    // A hidden tab rests, and reads on from the last piece when it is looked at again.
    await untilVisible(stop)
    try {
      const path = `/v1/runs/${runId}/chunks?starting_after=${last}`
      for await (const { data } of readEvents(path, whileVisible(stop))) {
        if (data === '[DONE]') return
        const numbered = JSON.parse(data) as NumberedChunk
        // A server that starts again may send a piece once more.
        if (numbered.number <= last) continue
        last = numbered.number
        take(numbered)
        if (numbered.chunk.message_type === 'done') return
      }
    } catch (fault) {
      // The stream is gone after its retention time: the committed messages say everything.
      if (fault instanceof StreamRefused && fault.status >= 400 && fault.status < 500) return
    }
    if (!document.hidden) await pause(RETRY_MS, stop)
  }
}
