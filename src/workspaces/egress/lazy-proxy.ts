import { join } from 'node:path'
import { defined } from '../../core/defined.ts'
import type { WorkspacesOptions } from '../workspaces-options.ts'
import type { RunningProxy } from './proxy.ts'

export type LazyProxy = {
  /** The folder that sandboxes see, with the proxy's socket; undefined where egress is disabled. */
  folder: string | undefined
  open(): Promise<void>
  close(): Promise<void>
}

/** Starts the egress proxy once per process, when the first workspace is used. */
export function newLazyProxy({
  folder: root,
  sandbox,
  isPublicAddress = () => false,
  resolve,
  report,
}: WorkspacesOptions): LazyProxy {
  const isEnabled = sandbox.containment === 'bubblewrap' && sandbox.egress.length > 0
  const folder = join(root, '.egress')
  let proxy: Promise<RunningProxy> | undefined

  async function start(): Promise<RunningProxy> {
    try {
      // Loaded only where egress is enabled: loading Node's HTTP server takes a tenth of a cold start.
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
    folder: isEnabled ? folder : undefined,
    async open() {
      if (!isEnabled) return
      proxy ??= start()
      await proxy
    },
    async close() {
      await proxy?.then((one) => one.close()).catch(() => {})
    },
  }
}
