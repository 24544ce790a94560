import type { Desk } from '../service/desk.ts'
import { checkReady } from '../service/store/check-ready.ts'

/** A probe that asks often costs the store nothing. */
const REMEMBERED_MS = 1_000

/** Whether runs can be accepted, asked of the store at most once a second. */
export function newReadiness(desk: Desk): () => Promise<boolean> {
  let last: { at: number; isReady: Promise<boolean> } | undefined
  return () => {
    const now = Date.now()
    if (!last || now - last.at > REMEMBERED_MS) last = { at: now, isReady: isReady(desk) }
    return last.isReady
  }
}

async function isReady(desk: Desk): Promise<boolean> {
  try {
    await checkReady(desk)
    return true
  } catch (fault) {
    desk.world.report(fault, 'readiness')
    return false
  }
}
