import { defined } from '../../core/defined.ts'
import { type ConversationId, parseId } from '../../core/id.ts'
import { Problem } from '../../core/problem.ts'
import { requireAgent } from '../../service/agents/agents.ts'
import type { ServiceContext } from '../../service/service-context.ts'
import { type CliContext, printJson } from '../cli-context.ts'
import { withHome } from '../home-session.ts'
import { lastConversation } from '../pick-conversation.ts'
import { confirm } from '../read-secret.ts'
import { endingText, processJson, workspaceJson, workspaceLine, workspaceLines } from '../render/workspace.ts'
import { safeText } from '../terminal.ts'
import type { ShownWorkspace } from '../workspace-verbs.ts'

type JsonFlag = { json?: boolean }

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
  { flags, cli }: { flags: { last?: string }; cli: CliContext },
): Promise<void> =>
  withHome(cli, 'rows', async ({ context, verbs }) => {
    const { out, notes } = cli
    const conversationId = await requireConversationId(which, context)
    const last = flags.last === undefined ? undefined : parseBytes(flags.last)
    // A terminal would execute control codes; a file keeps the output unchanged.
    const write = (text: string) => out.write(out.look.canRedraw ? safeText(text) : text)
    for (let from = 0; ; ) {
      const range = last === undefined ? { from, limit: PAGE_BYTES } : { last }
      const { output, process } = await verbs.workspaces.process({ conversationId, processId, range })
      write(output.text)
      if (last === undefined && output.next < output.total && output.next > from) {
        from = output.next
        continue
      }
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

export const remove = (which: string, { yes }: { yes?: boolean }, cli: CliContext): Promise<number> =>
  withHome(cli, 'rows', async ({ context, verbs }) => {
    const { out } = cli
    const id = await requireConversationId(which, context)
    const { agent, state } = await verbs.workspaces.show(id)
    const what = `the workspace of ${safeText(agent.name)} (${id})`
    if (!yes) {
      const { stdin, stderr } = process
      if (!stdin.isTTY) throw new Problem('invalid', `Confirmation needs a terminal. Add --yes to remove ${what}.`)
      const running = (state.processes ?? []).filter(({ ending }) => ending === undefined).length
      const question = `Remove ${what}? This deletes its files${running > 0 ? ` and ends ${running} running process${running === 1 ? '' : 'es'}` : ''}. [y/N] `
      if (!(await confirm(question, stdin, stderr))) {
        out.line('Nothing was removed.')
        return 1
      }
    }
    await verbs.workspaces.remove(id)
    out.line(`Removed ${what}. The conversation stays.`)
    return 0
  })

/** A conversation id is used as it is; an agent name stands for its last conversation. */
async function requireConversationId(which: string, context: ServiceContext): Promise<ConversationId> {
  return parseId('conv', which) ?? (await lastConversation(await requireAgent(which, context), context)).id
}

function parseBytes(text: string): number {
  const value = Number(text)
  if (Number.isInteger(value) && value >= 1 && value <= 1_048_576) return value
  throw new Problem('invalid', `--last must be a whole number of bytes from 1 to 1048576, not "${text}".`)
}
