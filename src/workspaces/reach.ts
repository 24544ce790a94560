import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ConversationId } from '../core/id.ts'
import { WorkspaceError } from '../ports/workspaces.ts'
import { newCgroup } from './cgroup.ts'
import { type Connection, connect } from './connection.ts'
import type { WayOut } from './egress/way-out.ts'
import { exists, type Place } from './folder.ts'
import { launch } from './launch.ts'
import type { LaunchLock } from './launch-lock.ts'
import { ordersFor } from './orders.ts'
import type { Hello } from './protocol.ts'
import { MADE_UP } from './sandbox/bubblewrap.ts'
import { findBubblewrap } from './sandbox/refusal.ts'
import { findSupervisor } from './supervisor-program.ts'
import type { WorkspacesOptions } from './workspaces-options.ts'

/** Connects to the supervisor of a workspace: the one that is there, whoever started it, or a new one. */
export function newReach(options: WorkspacesOptions, { lock, wayOut }: { lock: LaunchLock; wayOut: WayOut }) {
  const { folder: root, sandbox } = options

  return async (conversationId: ConversationId, place: Place): Promise<Connection> => {
    await wayOut.open()
    const orders = ordersFor(place, sandbox, options.sleepAfterMs)
    const there = await greet(place)
    if (there && (await isAsOrdered(there, orders))) return there.connection
    there?.connection.close()
    return lock.while(conversationId, async () => {
      if (!(await exists(place))) throw gone(conversationId)
      // Somebody else may have started it meanwhile.
      const meanwhile = await greet(place, 5_000)
      if (meanwhile) return meanwhile.connection
      const program = await findSupervisor()
      if (sandbox.containment === 'local') return launch({ place, orders, program })
      const cgroup = newCgroup(conversationId, sandbox.quota)
      return launch({ place, orders, program, bubblewrap: { ...parts(), ...(cgroup ? { cgroup } : {}) } })
    })
  }

  /** What the sandbox is made of besides the workspace itself. */
  function parts(): { program: string; etc: string; egress?: string } {
    const program = findBubblewrap(process.env.PATH)
    const etc = join(root, '.etc')
    mkdirSync(etc, { recursive: true, mode: 0o700 })
    for (const [name, text] of Object.entries(MADE_UP)) {
      const file = join(etc, name)
      // Sandboxes that run have the very file: it is never empty for a moment.
      if (!existsSync(file) || readFileSync(file, 'utf8') !== text) writeFileSync(file, text, { mode: 0o644 })
    }
    return { program, etc, ...(wayOut.folder === undefined ? {} : { egress: wayOut.folder }) }
  }
}

/** Whoever answers at the socket of a workspace; undefined where nobody does. */
export async function greet(
  place: Place,
  patienceMs = 15_000,
): Promise<{ connection: Connection; hello: Hello } | undefined> {
  let connection: Connection | undefined
  try {
    connection = await connect(place.socket)
    return { connection, hello: (await connection.ask({ type: 'hello' }, { patienceMs })) as unknown as Hello }
  } catch {
    connection?.close()
    return undefined
  }
}

/** One that was started with other limits goes on while it has work; without any it makes room for a new one. */
async function isAsOrdered(
  { connection, hello }: { connection: Connection; hello: Hello },
  orders: Hello['orders'],
): Promise<boolean> {
  if (JSON.stringify(hello?.orders) === JSON.stringify(orders)) return true
  return (await connection.ask({ type: 'rest' }).catch(() => true)) !== true
}

const gone = (conversationId: ConversationId) =>
  new WorkspaceError('gone', `The workspace of ${conversationId} was removed.`)
