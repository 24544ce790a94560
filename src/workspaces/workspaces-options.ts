import type { Clock } from '../ports/clock.ts'
import type { Containment, WorkspaceQuota } from '../ports/workspaces.ts'

export type WorkspacesOptions = {
  folder: string
  clock: Clock
  sandbox: {
    containment: Containment
    quota: WorkspaceQuota
    /** Domains that may be reached; none where it is empty. */
    egress: readonly string[]
  }
  report(fault: unknown, where: string): void
  /** Judges where a domain on the list leads. Without it there is no way out, whatever the list says. */
  isPublicAddress?(address: string): boolean
  /** The system's, if nothing else is said. */
  resolve?(host: string): Promise<{ address: string }[]>
  /** How long one without anything to do stays awake. */
  sleepAfterMs?: number
}
