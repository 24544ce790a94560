import { join } from 'node:path'
import { defined } from '../../core/defined.ts'
import { THIS_SERVER } from '../../core/egress-domain.ts'
import type { EgressRequest } from '../../ports/workspaces.ts'
import { proxyEnvironment } from '../supervisor-config.ts'
import type { WorkspacesOptions } from '../workspaces-options.ts'
import { openGrant, sealGrant } from './egress-grant.ts'
import type { RunningProxy } from './proxy.ts'

export type LazyProxy = {
  /** The folder that sandboxes see, with the proxy's socket; undefined without a sandbox. */
  folder: string | undefined
  /** For commands; nothing where they may reach nothing. */
  open(): Promise<void>
  /** For a program with domains of its own: the variables that lead it to the proxy. */
  openFor(request: EgressRequest): Promise<Record<string, string>>
  close(): Promise<void>
}

const OWN_URL = `http://${THIS_SERVER}`
/** As clients of the retired server and of this one name it. */
const OWN_SERVER = { LETTA_BASE_URL: OWN_URL, LETTA_SERVER_URL: OWN_URL }

/** Starts the egress proxy once per process, when the first workspace is used. */
export function newLazyProxy({
  folder: root,
  sandbox,
  isPublicAddress = () => false,
  resolve,
  report,
  clock,
  box,
  ownAddress,
}: WorkspacesOptions): LazyProxy {
  const isSandboxed = sandbox.containment === 'bubblewrap'
  const isEnabled = isSandboxed && sandbox.egress.length > 0
  const folder = join(root, '.egress')
  let proxy: Promise<RunningProxy> | undefined

  async function start(): Promise<RunningProxy> {
    try {
      // Loaded only where egress is enabled: loading Node's HTTP server takes a tenth of a cold start.
      const { newProxy } = await import('./proxy.ts')
      const options = { folder, domains: sandbox.egress, isPublicAddress, report }
      const grantIn = box && ((password: string) => openGrant(password, box, clock.now()))
      return await newProxy({ ...options, ...defined({ resolve, grantIn, ownAddress }) })
    } catch (fault) {
      // The next workspace tries again.
      proxy = undefined
      throw fault
    }
  }

  return {
    folder: isSandboxed ? folder : undefined,
    async open() {
      if (!isEnabled) return
      proxy ??= start()
      await proxy
    },
    async openFor({ domains, seconds }) {
      if (!isSandboxed || !box || domains.length === 0) return {}
      proxy ??= start()
      await proxy
      const password = sealGrant({ domains: [...domains], until: clock.now() + seconds * 1_000 }, box)
      const server = domains.includes(THIS_SERVER) ? OWN_SERVER : {}
      return Object.assign({}, proxyEnvironment(`tool:${password}@`), server)
    },
    async close() {
      await proxy?.then((one) => one.close()).catch(() => {})
    },
  }
}
