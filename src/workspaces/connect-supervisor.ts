import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { defined } from '../core/defined.ts'
import type { ConversationId } from '../core/id.ts'
import { WorkspaceError } from '../ports/workspaces.ts'
import { newCgroup } from './cgroup.ts'
import { connect, type SupervisorConnection } from './connection.ts'
import type { LazyProxy } from './egress/lazy-proxy.ts'
import type { LaunchLock } from './launch-lock.ts'
import { launchSupervisor } from './launch-supervisor.ts'
import type { SupervisorHello } from './protocol.ts'
import { SYNTHETIC_ETC } from './sandbox/bubblewrap.ts'
import { findBubblewrap } from './sandbox/sandbox-errors.ts'
import { newSupervisorConfig } from './supervisor-config.ts'
import { findSupervisorProgram } from './supervisor-program.ts'
import { type WorkspacePaths, workspaceExists } from './workspace-folder.ts'
import type { WorkspacesOptions } from './workspaces-options.ts'

/** Connects to the supervisor of a workspace: the one that is there, whoever started it, or a new one. */
export function newSupervisorConnector(
  options: WorkspacesOptions,
  { lock, wayOut }: { lock: LaunchLock; wayOut: LazyProxy },
) {
  const { folder: root, sandbox } = options

  return async (conversationId: ConversationId, paths: WorkspacePaths): Promise<SupervisorConnection> => {
    await wayOut.open()
    const config = newSupervisorConfig(paths, sandbox, options.sleepAfterMs)
    const there = await connectToRunning(paths)
    if (there && (await isAsOrdered(there, config))) return there.connection
    there?.connection.close()
    return lock.while(conversationId, async () => {
      if (!(await workspaceExists(paths))) throw gone(conversationId)
      // Somebody else may have started it meanwhile.
      const meanwhile = await connectToRunning(paths, 5_000)
      if (meanwhile) return meanwhile.connection
      const program = await findSupervisorProgram()
      if (sandbox.containment === 'local') return launchSupervisor({ paths, config, program })
      const cgroup = newCgroup(conversationId, sandbox.quota)
      return launchSupervisor({ paths, config, program, bubblewrap: { ...parts(), ...defined({ cgroup }) } })
    })
  }

  /** What the sandbox is made of besides the workspace itself. */
  function parts(): { program: string; etc: string; egress?: string } {
    const program = findBubblewrap(process.env.PATH)
    const etc = join(root, '.etc')
    mkdirSync(etc, { recursive: true, mode: 0o700 })
    for (const [name, text] of Object.entries(SYNTHETIC_ETC)) {
      const file = join(etc, name)
      // Sandboxes that run have the very file: it is never empty for a moment.
      if (!existsSync(file) || readFileSync(file, 'utf8') !== text) writeFileSync(file, text, { mode: 0o644 })
    }
    return { program, etc, ...defined({ egress: wayOut.folder }) }
  }
}

/** Whoever answers at the socket of a workspace; undefined where nobody does. */
export async function connectToRunning(
  paths: WorkspacePaths,
  patienceMs = 15_000,
): Promise<{ connection: SupervisorConnection; hello: SupervisorHello } | undefined> {
  let connection: SupervisorConnection | undefined
  try {
    connection = await connect(paths.socket)
    return {
      connection,
      hello: (await connection.ask({ type: 'hello' }, { patienceMs })) as unknown as SupervisorHello,
    }
  } catch {
    connection?.close()
    return undefined
  }
}

/** One that was started with other limits goes on while it has work; without any it makes room for a new one. */
async function isAsOrdered(
  { connection, hello }: { connection: SupervisorConnection; hello: SupervisorHello },
  config: SupervisorHello['orders'],
): Promise<boolean> {
  if (JSON.stringify(hello?.orders) === JSON.stringify(config)) return true
  return (await connection.ask({ type: 'rest' }).catch(() => true)) !== true
}

const gone = (conversationId: ConversationId) =>
  new WorkspaceError('gone', `The workspace of ${conversationId} was removed.`)
