import { join } from 'node:path'
import type { WorkspacesOptions } from '../workspaces.ts'
import { newProxy, type OpenProxy } from './proxy.ts'

export type WayOut = {
  /** What sandboxes see of it; undefined where there is none. */
  folder: string | undefined
  open(): Promise<void>
  close(): Promise<void>
}

/** Opened with the first workspace that is used, by each process that uses one. */
export function newWayOut({
  folder: root,
  sandbox,
  isPublicAddress = () => false,
  resolve,
  report,
}: WorkspacesOptions): WayOut {
  const isThere = sandbox.containment === 'bubblewrap' && sandbox.egress.length > 0
  const folder = join(root, '.egress')
  let proxy: Promise<OpenProxy> | undefined
  return {
    folder: isThere ? folder : undefined,
    async open() {
      if (!isThere) return
      proxy ??= newProxy({ folder, domains: sandbox.egress, isPublicAddress, report, ...(resolve ? { resolve } : {}) })
      await proxy
    },
    async close() {
      await proxy?.then((one) => one.close()).catch(() => {})
    },
  }
}
