import type { ServiceContext } from '../service/service-context.ts'
import { checkReady } from '../service/store/check-ready.ts'

const CACHE_MS = 1_000

/** Readiness check: whether runs can be accepted. Cached, so that frequent probes query the store once a second. */
export function newReadiness(context: ServiceContext): () => Promise<boolean> {
  let last: { at: number; isReady: Promise<boolean> } | undefined
  return () => {
    const now = Date.now()
    if (!last || now - last.at > CACHE_MS) last = { at: now, isReady: isReady(context) }
    return last.isReady
  }
}

async function isReady(context: ServiceContext): Promise<boolean> {
  try {
    await checkReady(context)
    return true
  } catch (fault) {
    context.deps.report(fault, 'checking readiness')
    return false
  }
}
