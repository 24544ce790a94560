import { mkdirSync } from 'node:fs'
import { defined } from '../core/defined.ts'
import type { ConversationId } from '../core/id.ts'
import { WorkspaceError } from '../ports/workspaces.ts'
import { newCgroup } from './cgroup.ts'
import { connect, type SupervisorConnection } from './connection.ts'
import type { LazyProxy } from './egress/lazy-proxy.ts'
import type { LaunchLock } from './launch-lock.ts'
import { launchSupervisor } from './launch-supervisor.ts'
import type { SupervisorHello } from './protocol.ts'
import { findCovers } from './sandbox/find-covers.ts'
import { findBubblewrap } from './sandbox/sandbox-errors.ts'
import { writeSyntheticEtc } from './sandbox/synthetic-etc.ts'
import { newSupervisorConfig } from './supervisor-config.ts'
import { findSupervisorProgram, type SupervisorProgram } from './supervisor-program.ts'
import { type WorkspacePaths, workspaceExists } from './workspace-folder.ts'
import type { WorkspacesOptions } from './workspaces-options.ts'

/** Connects to the supervisor of a workspace: the running one, started by any server process, or a new one. */
export function newSupervisorConnector(
  options: WorkspacesOptions,
  { lock, proxy }: { lock: LaunchLock; proxy: LazyProxy },
) {
  const { folder: root, sandbox } = options

  return async (conversationId: ConversationId, paths: WorkspacePaths): Promise<SupervisorConnection> => {
    const egress = await proxy.open(conversationId)
    const config = newSupervisorConfig(paths, sandbox, options.sleepAfterMs)
    const running = await connectToRunning(paths)
    if (running && (await isReusable(running, config))) return running.connection
    running?.connection.close()
    return lock.while(conversationId, async () => {
      if (!(await workspaceExists(paths))) throw removedError(conversationId)
      // Another process may have started it meanwhile.
      const startedMeanwhile = await connectToRunning(paths, 5_000)
      if (startedMeanwhile) return startedMeanwhile.connection
      const program = await findSupervisorProgram()
      if (sandbox.containment === 'local') return launchSupervisor({ paths, config, program })
      const cgroup = newCgroup(conversationId, sandbox.quota)
      return launchSupervisor({
        paths,
        config,
        program,
        bubblewrap: {
          ...sandboxParts(program),
          ...defined({ egress, cgroup, packages: await packagesFolder(conversationId) }),
        },
      })
    })
  }

  /** Created while it is empty, so that packages that are added later appear in sandboxes that already run. */
  async function packagesFolder(conversationId: ConversationId): Promise<string | undefined> {
    const folder = await options.packagesOf?.(conversationId)
    if (folder !== undefined) mkdirSync(folder, { recursive: true, mode: 0o700 })
    return folder
  }

  /** What the sandbox needs besides the workspace itself. */
  function sandboxParts({ folder: supervisor }: SupervisorProgram) {
    const program = findBubblewrap(process.env.PATH)
    const etc = writeSyntheticEtc(root)
    const covered = findCovers(options, supervisor)
    return { program, etc, covered }
  }
}

/** A connection to the supervisor that answers at the workspace's socket; undefined if none does. */
export async function connectToRunning(
  paths: WorkspacePaths,
  timeoutMs = 15_000,
): Promise<{ connection: SupervisorConnection; hello: SupervisorHello } | undefined> {
  let connection: SupervisorConnection | undefined
  try {
    connection = await connect(paths.socket)
    return {
      connection,
      hello: (await connection.ask({ type: 'hello' }, { timeoutMs })) as unknown as SupervisorHello,
    }
  } catch {
    connection?.close()
    return undefined
  }
}

/**
 * A supervisor with an older configuration continues while it has work; an idle one exits, so that a new one starts.
 */
async function isReusable(
  { connection, hello }: { connection: SupervisorConnection; hello: SupervisorHello },
  config: SupervisorHello['orders'],
): Promise<boolean> {
  if (JSON.stringify(hello?.orders) === JSON.stringify(config)) return true
  return (await connection.ask({ type: 'rest' }).catch(() => true)) !== true
}

const removedError = (conversationId: ConversationId) =>
  new WorkspaceError('gone', `The workspace of ${conversationId} was removed.`)
