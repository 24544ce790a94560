import { join } from 'node:path'
import { defined } from '../../core/defined.ts'
import type { WorkspacesOptions } from '../workspaces-options.ts'
import type { RunningProxy } from './proxy.ts'

export type LazyProxy = {
  /** What sandboxes see of it; undefined where there is none. */
  folder: string | undefined
  open(): Promise<void>
  close(): Promise<void>
}

/** Opened with the first workspace that is used, by each process that uses one. */
export function newLazyProxy({
  folder: root,
  sandbox,
  isPublicAddress = () => false,
  resolve,
  report,
}: WorkspacesOptions): LazyProxy {
  const isThere = sandbox.containment === 'bubblewrap' && sandbox.egress.length > 0
  const folder = join(root, '.egress')
  let proxy: Promise<RunningProxy> | undefined

  async function begin(): Promise<RunningProxy> {
    try {
      // Loaded only where there is a way out: Node's HTTP server would be a tenth of a cold start.
      const { newProxy } = await import('./proxy.ts')
      const options = { folder, domains: sandbox.egress, isPublicAddress, report }
      return await newProxy({ ...options, ...defined({ resolve }) })
    } catch (fault) {
      // The next workspace tries again.
      proxy = undefined
      throw fault
    }
  }

  return {
    folder: isThere ? folder : undefined,
    async open() {
      if (!isThere) return
      proxy ??= begin()
      await proxy
    },
    async close() {
      await proxy?.then((one) => one.close()).catch(() => {})
    },
  }
}
