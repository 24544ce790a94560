import { mkdirSync } from 'node:fs'
import type { ConversationId } from '../core/id.ts'
import type { Json } from '../core/json.ts'
import {
  type Workspace,
  WorkspaceError,
  type WorkspaceState,
  type WorkspaceSummary,
  type Workspaces,
} from '../ports/workspaces.ts'
import { removeCgroup } from './cgroup.ts'
import { connectToRunning, newSupervisorConnector } from './connect-supervisor.ts'
import type { SupervisorConnection } from './connection.ts'
import { newLazyProxy } from './egress/lazy-proxy.ts'
import { newLaunchLock } from './launch-lock.ts'
import { connectToPort } from './pages/connect-to-port.ts'
import type { PageServer } from './pages/page-server.ts'
import { newProcessWatches } from './process-watches.ts'
import type { SupervisorQuestion } from './protocol.ts'
import { type ConnectionSource, retryQuestion } from './retry-question.ts'
import { checkSandbox } from './sandbox/check-sandbox.ts'
import { findCovers } from './sandbox/find-covers.ts'
import { findBubblewrap, requireLinux } from './sandbox/sandbox-errors.ts'
import { killSupervisor } from './supervisor-pid.ts'
import { findSupervisorProgram } from './supervisor-program.ts'
import { parsePorts, parseProcesses, parseUsage } from './validate-answers.ts'
import { newWorkspace } from './workspace.ts'
import {
  listWorkspaceIds,
  makeWorkspaceFolder,
  moveAside,
  readMetadata,
  removeLeftovers,
  removeTree,
  type WorkspacePaths,
  workspaceExists,
  workspacePaths,
} from './workspace-folder.ts'
import { newWorkspaceShares } from './workspace-shares.ts'
import type { WorkspacesOptions } from './workspaces-options.ts'

/** Workspaces on this machine. Each has its own supervisor, which any server process can find again. */
export function newWorkspaces(options: WorkspacesOptions): Workspaces {
  const { folder: root, clock, sandbox, report } = options
  const lock = newLaunchLock(root)
  const shares = newWorkspaceShares({
    tenantOf: options.tenantOf,
    list: () => listWorkspaceIds(root),
    processes: sandbox.quota.processes,
  })
  const proxy = newLazyProxy(options, shares.organizationOf)
  const connect = newSupervisorConnector(options, { lock, proxy })
  const connections = new Map<ConversationId, Promise<SupervisorConnection>>()
  let isClosed = false
  let openedPages: PageServer | undefined

  /** Its code is loaded with the first page. */
  async function pageServer(): Promise<PageServer> {
    const { startPageServer } = await import('./pages/page-server.ts')
    const connectTo = (id: ConversationId, port: number) => connectToPort(workspacePaths(root, id), port)
    openedPages ??= startPageServer({ connectTo, now: clock.now, egress: sandbox.egress })
    return openedPages
  }

  function connectionOf(conversationId: ConversationId): Promise<SupervisorConnection> {
    const known = connections.get(conversationId)
    if (known) return known
    if (isClosed) return Promise.reject(new WorkspaceError('unavailable', 'The server is shutting down.'))
    const opened = wake(conversationId)
    connections.set(conversationId, opened)
    const isOver = () => forget(conversationId, opened)
    opened.then(({ closed }) => closed).then(isOver, isOver)
    return opened
  }

  /** A connected workspace counts as awake until its supervisor sleeps. */
  async function wake(conversationId: ConversationId): Promise<SupervisorConnection> {
    const paths = workspacePaths(root, conversationId)
    const rest = await shares.wake(conversationId)
    try {
      const connection = await connect(conversationId, paths)
      void connection.closed.then(rest, rest)
      return connection
    } catch (fault) {
      rest()
      throw fault
    }
  }

  function forget(conversationId: ConversationId, opened: Promise<SupervisorConnection>): void {
    if (connections.get(conversationId) === opened) connections.delete(conversationId)
  }

  function newAsk(conversationId: ConversationId) {
    const source: ConnectionSource = {
      open: () => connectionOf(conversationId),
      forget: (opened) => forget(conversationId, opened),
      isClosed: () => isClosed,
    }
    return (question: SupervisorQuestion, how: { signal?: AbortSignal } = {}): Promise<Json> =>
      retryQuestion(question, how, source)
  }

  const workspaceOf = (conversationId: ConversationId): Workspace =>
    newWorkspace(conversationId, newAsk(conversationId))

  async function peek(conversationId: ConversationId): Promise<WorkspaceSummary | undefined> {
    const paths = workspacePaths(root, conversationId)
    if (!(await workspaceExists(paths))) return undefined
    const running = await connectToRunning(paths)
    running?.connection.close()
    const metadata = await readMetadata(paths)
    if (!metadata) return undefined
    return {
      conversationId,
      folder: paths.folder,
      status: running ? 'awake' : 'asleep',
      containment: sandbox.containment,
      quota: sandbox.quota,
      createdAt: metadata.createdAt,
    }
  }

  async function inspect(conversationId: ConversationId): Promise<WorkspaceState | undefined> {
    const summary = await peek(conversationId)
    if (!summary) return undefined
    const ask = newAsk(conversationId)
    const usage = parseUsage(await ask({ type: 'usage' }))
    const processes = parseProcesses(await ask({ type: 'processes' }))
    const ports = parsePorts(await ask({ type: 'ports' }))
    // The inspection woke the supervisor: let it sleep again.
    if (summary.status === 'asleep') await ask({ type: 'rest' })
    return { ...summary, usage, processes, ports }
  }

  async function remove(conversationId: ConversationId): Promise<boolean> {
    const paths = workspacePaths(root, conversationId)
    if (!(await workspaceExists(paths))) return false
    const removed = await lock.while(conversationId, async () => {
      if (!(await workspaceExists(paths))) return undefined
      await endProcesses(paths)
      const aside = await moveAside(root, paths)
      lock.forget(conversationId)
      return aside
    })
    if (removed === undefined) return false
    openedPages?.closeAll(conversationId)
    await removeTree(removed)
    await removeCgroup(conversationId)
    await removeLeftovers(root).catch((fault) => report(fault, 'removing abandoned workspace folders'))
    return true
  }

  /**
   * Without a sandbox only the supervisor knows its processes; with one, all of them end with the sandbox's first
   * process.
   */
  async function endProcesses(paths: WorkspacePaths): Promise<void> {
    const running = await connectToRunning(paths)
    await running?.connection.ask({ type: 'end', why: 'removed' }).catch(() => {})
    running?.connection.close()
    await killSupervisor(paths)
  }

  return {
    async open(conversationId) {
      const paths = workspacePaths(root, conversationId)
      if (!(await workspaceExists(paths))) {
        requireLinux()
        mkdirSync(root, { recursive: true, mode: 0o700 })
        // Fails before anything is created: without a sandbox there is no workspace.
        if (sandbox.containment === 'bubblewrap') findBubblewrap(process.env.PATH)
        await shares.admitNew(conversationId)
        await lock.while(conversationId, async () => {
          if (!(await workspaceExists(paths))) await makeWorkspaceFolder(root, paths, { createdAt: clock.now() })
        })
      }
      await connectionOf(conversationId)
      return workspaceOf(conversationId)
    },
    async find(conversationId) {
      return (await workspaceExists(workspacePaths(root, conversationId))) ? workspaceOf(conversationId) : undefined
    },
    list: () => listWorkspaceIds(root),
    peek,
    inspect,
    remove,
    openEgress: proxy.openFor,
    openPage: async (request) => (await pageServer()).open(request),
    closePage: async (conversationId, pageId) => openedPages?.close(conversationId, pageId) ?? false,
    check: () =>
      checkSandbox(sandbox.containment, async () => findCovers(options, (await findSupervisorProgram()).folder)),
    processWatches: newProcessWatches({
      folderOf: (conversationId) => workspacePaths(root, conversationId).folder,
      list: () => listWorkspaceIds(root),
      now: clock.monotonic,
    }),
    countOf: shares.countOf,
    async close() {
      isClosed = true
      const open = [...connections.values()]
      connections.clear()
      await openedPages?.stop()
      await proxy.close()
      for (const connection of open) await connection.then((one) => one.close()).catch(() => {})
    },
  }
}
