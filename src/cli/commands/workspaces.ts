import { defined } from '../../core/defined.ts'
import { type ConversationId, parseId } from '../../core/id.ts'
import { Problem } from '../../core/problem.ts'
import type { ServiceContext } from '../../service/service-context.ts'
import { type CliContext, printJson } from '../cli-context.ts'
import { confirmRemoval } from '../confirm-removal.ts'
import { withHome } from '../home-session.ts'
import { requireConversationNamed } from '../pick-conversation.ts'
import { type JsonFlag, printResult } from '../print-result.ts'
import { count } from '../render/run.ts'
import { endingText, processJson, workspaceJson, workspaceLine, workspaceLines } from '../render/workspace.ts'
import { timeJson } from '../run-json.ts'
import { onSignals } from '../signals.ts'
import { safeName, safeText } from '../terminal.ts'
import { wholeNumber } from '../whole-number.ts'
import type { ShownWorkspace } from '../workspace-verbs.ts'

const PAGE = 100
/** Bytes of a log fetched in one request. */
const PAGE_BYTES = 262_144

export const listAll = ({ json }: JsonFlag, cli: CliContext): Promise<void> =>
  withHome(cli, 'rows', async ({ verbs }) => {
    const { out } = cli
    const all: ShownWorkspace[] = []
    for (let last: ConversationId | undefined; ; last = all.at(-1)?.state.conversationId) {
      const page = await verbs.workspaces.list({ limit: PAGE, ...defined({ after: last || undefined }) })
      all.push(...page)
      if (page.length < PAGE) break
    }
    if (json) return printJson(out, all.map(workspaceJson))
    if (all.length === 0)
      out.line('No workspaces yet. An agent with the tool `shell` or `write_file` creates one when it needs it.')
    for (const one of all) out.line(workspaceLine(one, out.look))
  })

export const show = (which: string, { json }: JsonFlag, cli: CliContext): Promise<void> =>
  withHome(cli, 'rows', async ({ context, verbs }) => {
    const { out } = cli
    const found = await verbs.workspaces.show(await requireConversationId(which, context))
    if (json) return printJson(out, workspaceJson(found))
    for (const line of workspaceLines(found, context.deps.clock.now(), out.look)) out.line(line)
  })

/** Prints the kept output of a process, or its end. */
export const logs = (
  which: string,
  processId: string,
  { flags, cli }: { flags: JsonFlag & { last?: string }; cli: CliContext },
): Promise<void> =>
  withHome(cli, 'rows', async ({ context, verbs }) => {
    const { out, notes } = cli
    const conversationId = await requireConversationId(which, context)
    const last = flags.last === undefined ? undefined : parseBytes(flags.last)
    // A terminal would execute control codes; a file keeps the output unchanged.
    let kept = ''
    const write = (text: string) => {
      if (flags.json) kept += text
      else out.write(out.look.canRedraw ? safeText(text) : text)
    }
    for (let from = 0; ; ) {
      const range = last === undefined ? { from, limit: PAGE_BYTES } : { last }
      const { output, process } = await verbs.workspaces.process({ conversationId, processId, range })
      write(output.text)
      if (last === undefined && output.next < output.total && output.next > from) {
        from = output.next
        continue
      }
      if (flags.json) return printJson(out, { ...processJson(process), output: kept, dropped_bytes: output.dropped })
      if (output.dropped > 0) notes.line(`(${output.dropped} more bytes of output were not kept)`)
      notes.line(`(${process.ending ? endingText(process.ending) : 'still running'})`)
      return
    }
  })

export const kill = (which: string, processId: string, { json, cli }: JsonFlag & { cli: CliContext }): Promise<void> =>
  withHome(cli, 'rows', async ({ context, verbs }) => {
    const conversationId = await requireConversationId(which, context)
    const ended = await verbs.workspaces.end({ conversationId, processId })
    if (json) return printJson(cli.out, processJson(ended))
    cli.out.line(`${processId}: ${ended.ending ? endingText(ended.ending) : 'still running'}.`)
  })

export const remove = (which: string, flags: JsonFlag & { yes?: boolean }, cli: CliContext): Promise<number> =>
  withHome(cli, 'rows', async ({ context, verbs }) => {
    const id = await requireConversationId(which, context)
    const { agent, state } = await verbs.workspaces.show(id)
    const what = `the workspace of ${safeName(agent.name)} (${id})`
    const running = (state.processes ?? []).filter(({ ending }) => ending === undefined).length
    const ended = running > 0 ? ` and ends ${count(running, 'running process', 'running processes')}` : ''
    const consequence = `This deletes its files${ended}.`
    if (!(await confirmRemoval({ verb: 'Remove', what, consequence }, flags, cli))) return 1
    await verbs.workspaces.remove(id)
    printResult(cli, flags, {
      sentence: `Removed ${what}. The conversation stays.`,
      value: { conversation_id: id, agent_id: agent.id, deleted: true },
    })
    return 0
  })

type OpenFlags = JsonFlag & { port?: string; minutes: string }

/** Prints an address for a browser, and closes the page when the command ends. */
export const open = (which: string, flags: OpenFlags, cli: CliContext): Promise<void> =>
  withHome(cli, 'rows', async ({ context, verbs }) => {
    const { out, notes } = cli
    const minutes = wholeNumber('--minutes', flags.minutes, { from: 1, to: 1_440 })
    const port = flags.port === undefined ? undefined : wholeNumber('--port', flags.port, { from: 1, to: 65_535 })
    const conversationId = await requireConversationId(which, context)
    // Before the address is printed: a signal from then on closes the page.
    const stopped = nextSignal()
    const page = await verbs.workspaces
      .openPage({ conversationId, minutes, ...defined({ port }) })
      .catch((fault: unknown) => {
        stopped.ignore()
        throw fault
      })
    if (flags.json) printJson(out, { url: page.url, port: page.port, expires_at: timeJson(page.expiresAt) })
    else out.line(page.url)
    notes.line(
      `Port ${page.port} of the workspace, for ${minutes} minutes. The address works once. Ctrl-C closes the page.`,
    )
    await stopped.within(page.expiresAt - context.deps.clock.now())
    // The server may have ended meanwhile, and its pages with it.
    await verbs.workspaces.closePage({ conversationId, pageId: page.pageId }).catch((fault) => {
      if (!(fault instanceof Problem)) throw fault
    })
  })

/** Listens from now on. `within` resolves at the signal, or when the time is over. */
function nextSignal(): { within(ms: number): Promise<void>; ignore(): void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  const ignore = onSignals({ interrupt: resolve, terminate: resolve })
  return {
    ignore,
    within(ms) {
      const timer = setTimeout(resolve, ms)
      return promise.finally(() => {
        clearTimeout(timer)
        ignore()
      })
    },
  }
}

const requireConversationId = async (which: string, context: ServiceContext): Promise<ConversationId> =>
  parseId('conv', which) ?? (await requireConversationNamed(which, context)).conversation.id

function parseBytes(text: string): number {
  const value = Number(text)
  if (Number.isInteger(value) && value >= 1 && value <= 1_048_576) return value
  throw new Problem('invalid', `--last must be a whole number of bytes from 1 to 1048576, not "${text}".`)
}
