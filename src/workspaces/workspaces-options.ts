import type { ConversationId } from '../core/id.ts'
import type { Clock } from '../ports/clock.ts'
import type { SecretBox } from '../ports/secret-box.ts'
import type { Containment, WorkspaceQuota } from '../ports/workspaces.ts'
import type { WorkspaceTenant } from './workspace-shares.ts'

export type WorkspacesOptions = {
  folder: string
  /** The home of the server, which no sandbox shows; default: the folder of the workspaces. */
  home?: string
  clock: Clock
  sandbox: {
    containment: Containment
    quota: WorkspaceQuota
    /** Domains that commands may reach; empty for none. */
    egress: readonly string[]
  }
  report(fault: unknown, where: string): void
  /** Checks the resolved address of an allowed domain. Without it every address is refused. */
  isPublicAddress?(address: string): boolean
  /** Seals the egress of a program; without it no program has its own. */
  box?: SecretBox
  /** Where this server listens, for programs that may reach it. */
  ownAddress?(): { host: string; port: number } | undefined
  /** Default: the system's resolver. */
  resolve?(host: string): Promise<{ address: string }[]>
  /** The folder with the Python packages that tools of this conversation can import; the sandbox shows it read-only. */
  packagesOf?(conversationId: ConversationId): Promise<string | undefined>
  /** The organization of a conversation and what it may have. Without it, nothing is limited. */
  tenantOf?(conversationId: ConversationId): Promise<WorkspaceTenant | undefined>
  /** How long an idle supervisor stays awake. */
  sleepAfterMs?: number
}
