import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { realClock } from '../../src/config/real-clock.ts'
import type { ConversationId, RunId } from '../../src/core/id.ts'
import type { CommandRequest, Containment, ProcessState, Workspace, Workspaces } from '../../src/ports/workspaces.ts'
import { newWorkspaces } from '../../src/workspaces/workspaces.ts'
import type { WorkspacesOptions } from '../../src/workspaces/workspaces-options.ts'

export const QUOTA = { diskBytes: 256 * 1024 * 1024, memoryBytes: 512 * 1024 * 1024, processes: 64 }

export type WorkspacesFixture = {
  folder: string
  workspaces: Workspaces
  /** Workspaces of the same folder, as another server process opens them. */
  another(): Workspaces
  /** Opens the workspace of a new conversation. */
  open(): Promise<Workspace>
}

type WorkspacesFixtureOptions = Partial<Omit<WorkspacesOptions, 'sandbox'>> & {
  sandbox?: Partial<WorkspacesOptions['sandbox']>
}

/** Real workspaces in a temporary folder; all are removed after the test, even if it fails. */
export function openWorkspacesFixture(context: TestContext, options: WorkspacesFixtureOptions = {}): WorkspacesFixture {
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'holdfast-workspaces-'))
  const opened: Workspaces[] = []
  const make = () => {
    const { sandbox, ...others } = options
    const workspaces = newWorkspaces({
      clock: realClock,
      report: (fault: unknown, where: string) => console.error(where, fault),
      ...others,
      folder,
      sandbox: { containment: 'bubblewrap' as Containment, quota: QUOTA, egress: [], ...sandbox },
    })
    opened.push(workspaces)
    return workspaces
  }
  const workspaces = make()
  context.after(async () => {
    await removeAll(workspaces)
    for (const one of opened) await one.close()
    rmSync(folder, { recursive: true, force: true })
  })
  return { folder, workspaces, another: make, open: () => workspaces.open(newConversationId()) }
}

/** Ends every supervisor of the folder. */
export async function removeAll(workspaces: Workspaces): Promise<void> {
  for (const conversationId of await workspaces.list()) await workspaces.remove(conversationId)
}

export const newConversationId = (): ConversationId => `conv-${randomUUID()}`
export const newRunId = (): RunId => `run-${randomUUID()}`

export const newCommand = (command: string, request: Partial<CommandRequest> = {}): CommandRequest => ({
  key: randomUUID(),
  command,
  runId: newRunId(),
  background: false,
  ...request,
})

export type CommandResult = { state: ProcessState; text: string; ending: ProcessState['ending'] }

/** Runs a command to its end, with a timeout of 30 seconds. */
export async function runCommand(
  workspace: Workspace,
  command: string,
  request: Partial<CommandRequest> = {},
): Promise<CommandResult> {
  const { processId } = await workspace.start(newCommand(command, request))
  const state = await workspace.wait(processId, AbortSignal.timeout(30_000))
  const { text } = await workspace.output(processId, { last: 1024 * 1024 })
  return { state, text, ending: state.ending }
}

/** Waits until `look` returns a value. */
export async function until<T>(look: () => Promise<T | undefined | false> | T | undefined | false): Promise<T> {
  const deadline = performance.now() + 20_000
  for (;;) {
    const found = await look()
    if (found !== undefined && found !== false) return found
    if (performance.now() > deadline) throw new Error(`waited in vain for ${look}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
