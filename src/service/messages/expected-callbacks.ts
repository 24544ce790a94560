import type { OrganizationId, RunId } from '../../core/id.ts'

type ExpectedCallbackListener = (runId: RunId, organizationId: OrganizationId) => void

/**
 * Between the verbs that accept a callback and the job that sends it: the job looks when the run is over, and not with
 * its next sweep. An announcement that is lost costs seconds, since the run's row has the callback.
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
