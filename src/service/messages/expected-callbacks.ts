import type { OrganizationId, RunId } from '../../core/id.ts'

type ExpectedCallbackListener = (runId: RunId, organizationId: OrganizationId) => void

/**
 * Connects the verbs that accept a callback (webhook) with the job that sends it: the job sends it as soon as the run
 * ends instead of at its next sweep. A lost notification costs seconds, because the callback is stored with the run.
 */
export type ExpectedCallbacks = {
  expect: ExpectedCallbackListener
  onExpected(listener: ExpectedCallbackListener): () => void
}

export function newExpectedCallbacks(): ExpectedCallbacks {
  const listeners = new Set<ExpectedCallbackListener>()
  return {
    expect(runId, organizationId) {
      for (const listener of listeners) listener(runId, organizationId)
    },
    onExpected(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}
