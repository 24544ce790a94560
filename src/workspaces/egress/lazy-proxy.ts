import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { defined } from '../../core/defined.ts'
import { THIS_SERVER } from '../../core/egress-domain.ts'
import type { ConversationId } from '../../core/id.ts'
import type { EgressRequest } from '../../ports/workspaces.ts'
import { proxyEnvironment } from '../supervisor-config.ts'
import type { WorkspacesOptions } from '../workspaces-options.ts'
import { openGrant, sealGrant } from './egress-grant.ts'
import type { RunningProxy } from './proxy.ts'

export type LazyProxy = {
  /**
   * For commands, where they may reach anything. Resolves with the folder that the sandbox sees, with the socket of the
   * proxy; undefined without a sandbox.
   */
  open(conversationId: ConversationId): Promise<string | undefined>
  /** For a program with domains of its own: the variables that lead it to the proxy. */
  openFor(request: EgressRequest): Promise<Record<string, string>>
  close(): Promise<void>
}

const OWN_URL = `http://${THIS_SERVER}`
/** As clients of the retired server and of this one name it. */
const OWN_SERVER = { LETTA_BASE_URL: OWN_URL, LETTA_SERVER_URL: OWN_URL }

/** Of conversations whose organization is unknown. */
const UNKNOWN = 'shared'

/**
 * The egress proxies of a process. Each organization has its own, started with its first workspace: one that holds all its
 * connections leaves those of others alone.
 */
export function newLazyProxy(
  { folder: root, sandbox, isPublicAddress = () => false, resolve, report, clock, box, ownAddress }: WorkspacesOptions,
  organizationOf: (id: ConversationId) => Promise<string | undefined>,
): LazyProxy {
  const isSandboxed = sandbox.containment === 'bubblewrap'
  const isEnabled = isSandboxed && sandbox.egress.length > 0
  const proxies = new Map<string, Promise<RunningProxy>>()

  const folderOf = async (id: ConversationId): Promise<string> =>
    join(root, '.egress', (await organizationOf(id)) ?? UNKNOWN)

  async function startOnce(folder: string): Promise<void> {
    const proxy = proxies.get(folder) ?? start(folder)
    proxies.set(folder, proxy)
    await proxy
  }

  async function start(folder: string): Promise<RunningProxy> {
    try {
      // Loaded only where egress is enabled: loading Node's HTTP server takes a tenth of a cold start.
      const { newProxy } = await import('./proxy.ts')
      const options = { folder, domains: sandbox.egress, isPublicAddress, report }
      const grantIn = box && ((password: string) => openGrant(password, box, clock.now()))
      return await newProxy({ ...options, ...defined({ resolve, grantIn, ownAddress }) })
    } catch (fault) {
      // The next workspace tries again.
      proxies.delete(folder)
      throw fault
    }
  }

  return {
    async open(conversationId) {
      if (!isSandboxed) return undefined
      const folder = await folderOf(conversationId)
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      if (isEnabled) await startOnce(folder)
      return folder
    },
    async openFor({ conversationId, domains, seconds }) {
      if (!isSandboxed || !box || domains.length === 0) return {}
      await startOnce(await folderOf(conversationId))
      const password = sealGrant({ domains: [...domains], until: clock.now() + seconds * 1_000 }, box)
      const server = domains.includes(THIS_SERVER) ? OWN_SERVER : {}
      return Object.assign({}, proxyEnvironment(`tool:${password}@`), server)
    },
    async close() {
      for (const proxy of proxies.values()) await proxy.then((one) => one.close()).catch(() => {})
    },
  }
}
