import { mkdirSync } from 'node:fs'
import type { ConversationId } from '../core/id.ts'
import type { Json } from '../core/json.ts'
import {
  type Workspace,
  WorkspaceError,
  type WorkspaceGlance,
  type WorkspaceState,
  type Workspaces,
} from '../ports/workspaces.ts'
import { askAgain, type Line } from './ask-again.ts'
import { awaitedProcesses } from './awaited.ts'
import { removeCgroup } from './cgroup.ts'
import type { Connection } from './connection.ts'
import { newWayOut } from './egress/way-out.ts'
import {
  exists,
  makeFolder,
  namesIn,
  type Place,
  placeOf,
  readAbout,
  removeLeftovers,
  removeTree,
  takeAway,
} from './folder.ts'
import { endKeeper } from './keeper.ts'
import { newLaunchLock } from './launch-lock.ts'
import type { Question } from './protocol.ts'
import { greet, newReach } from './reach.ts'
import { checkSandbox } from './sandbox/check-sandbox.ts'
import { findBubblewrap, requireLinux } from './sandbox/refusal.ts'
import { processesFrom, usageFrom } from './trusted-form.ts'
import { newWorkspace } from './workspace.ts'
import type { WorkspacesOptions } from './workspaces-options.ts'

/** Workspaces on this machine, each kept by a supervisor of its own that is found again, whoever started it. */
export function newWorkspaces(options: WorkspacesOptions): Workspaces {
  const { folder: root, clock, sandbox, report } = options
  const lock = newLaunchLock(root)
  const wayOut = newWayOut(options)
  const reach = newReach(options, { lock, wayOut })
  const connections = new Map<ConversationId, Promise<Connection>>()
  let isClosed = false

  function connectionOf(conversationId: ConversationId): Promise<Connection> {
    const known = connections.get(conversationId)
    if (known) return known
    if (isClosed) return Promise.reject(new WorkspaceError('unavailable', 'The server is stopping.'))
    const opened = reach(conversationId, placeOf(root, conversationId))
    connections.set(conversationId, opened)
    const isOver = () => forget(conversationId, opened)
    opened.then(({ closed }) => closed).then(isOver, isOver)
    return opened
  }

  function forget(conversationId: ConversationId, opened: Promise<Connection>): void {
    if (connections.get(conversationId) === opened) connections.delete(conversationId)
  }

  function asker(conversationId: ConversationId) {
    const line: Line = {
      open: () => connectionOf(conversationId),
      forget: (opened) => forget(conversationId, opened),
      isOver: () => isClosed,
    }
    return (question: Question, how: { signal?: AbortSignal } = {}): Promise<Json> => askAgain(question, how, line)
  }

  const workspaceOf = (conversationId: ConversationId): Workspace => newWorkspace(conversationId, asker(conversationId))

  async function glance(conversationId: ConversationId): Promise<WorkspaceGlance | undefined> {
    const place = placeOf(root, conversationId)
    if (!(await exists(place))) return undefined
    const there = await greet(place)
    there?.connection.close()
    return {
      ...{ conversationId, folder: place.folder, status: there ? 'awake' : 'asleep' },
      ...{ containment: sandbox.containment, quota: sandbox.quota, createdAt: (await readAbout(place)).createdAt },
    }
  }

  async function inspect(conversationId: ConversationId): Promise<WorkspaceState | undefined> {
    const seen = await glance(conversationId)
    if (!seen) return undefined
    const ask = asker(conversationId)
    const usage = usageFrom(await ask({ type: 'usage' }))
    const processes = processesFrom(await ask({ type: 'processes' }))
    // Looking at one that slept wakes it for no longer than the look.
    if (seen.status === 'asleep') await ask({ type: 'rest' })
    return { ...seen, usage, processes }
  }

  async function remove(conversationId: ConversationId): Promise<boolean> {
    const place = placeOf(root, conversationId)
    if (!(await exists(place))) return false
    const aside = await lock.while(conversationId, async () => {
      if (!(await exists(place))) return undefined
      await end(place)
      return takeAway(root, place)
    })
    if (aside === undefined) return false
    await removeTree(aside)
    await removeCgroup(conversationId)
    await removeLeftovers(root).catch((fault) => report(fault, 'removing what is left of workspaces'))
    return true
  }

  /** Without a sandbox only the supervisor knows what belongs to it; with one everything ends with its first process. */
  async function end(place: Place): Promise<void> {
    const there = await greet(place)
    await there?.connection.ask({ type: 'end', why: 'removed' }).catch(() => {})
    there?.connection.close()
    await endKeeper(place)
  }

  return {
    async open(conversationId) {
      const place = placeOf(root, conversationId)
      if (!(await exists(place))) {
        requireLinux()
        mkdirSync(root, { recursive: true, mode: 0o700 })
        // Said before anything is made: without a sandbox there is no workspace.
        if (sandbox.containment === 'bubblewrap') findBubblewrap(process.env.PATH)
        await lock.while(conversationId, async () => {
          if (!(await exists(place))) await makeFolder(root, place, { createdAt: clock.now() })
        })
      }
      await connectionOf(conversationId)
      return workspaceOf(conversationId)
    },
    async find(conversationId) {
      return (await exists(placeOf(root, conversationId))) ? workspaceOf(conversationId) : undefined
    },
    list: () => namesIn(root),
    glance,
    inspect,
    remove,
    check: () => checkSandbox(sandbox.containment),
    awaited: awaitedProcesses({
      ...{ folderOf: (conversationId) => placeOf(root, conversationId).folder, list: () => namesIn(root) },
      now: clock.monotonic,
    }),
    async close() {
      isClosed = true
      const open = [...connections.values()]
      connections.clear()
      await wayOut.close()
      for (const connection of open) await connection.then((one) => one.close()).catch(() => {})
    },
  }
}
