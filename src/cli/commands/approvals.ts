import type { Verdict } from '../../core/approval.ts'
import { defined } from '../../core/defined.ts'
import { Problem } from '../../core/problem.ts'
import type { ToolCall } from '../../core/tool-call.ts'
import { findAgent } from '../../service/agents/agents.ts'
import { listApprovals } from '../../service/approvals/approvals.ts'
import type { ServiceContext } from '../../service/service-context.ts'
import { type CliContext, printJson, withApp } from '../cli-context.ts'
import { withHome } from '../home-session.ts'
import { requireRunId } from '../pick-run.ts'
import type { JsonFlag } from '../print-result.ts'
import { commandLine } from '../program-name.ts'
import { argumentLines } from '../render/arguments.ts'
import { ageText } from '../render/run.ts'
import { timeJson } from '../run-json.ts'
import { safeName, safeText } from '../terminal.ts'

export const listAll = ({ json }: { json?: boolean }, cli: CliContext): Promise<void> =>
  withApp(cli, 'guest', async ({ context }) => {
    const { out } = cli
    const { bold, dim } = out.look.paint
    const pending = await listApprovals(context)
    if (json)
      return printJson(
        out,
        await Promise.all(
          pending.map(async ({ run, calls }) => ({
            ...pendingJson(run, calls),
            agent_name: (await findAgent(run.agentId, context))?.name ?? null,
          })),
        ),
      )
    if (pending.length === 0) out.line('No pending approvals.')
    const now = context.deps.clock.now()
    for (const { run, calls } of pending) {
      const lapses = run.expiresAt === undefined ? '' : `, expires in ${ageText(run.expiresAt - now)}`
      const agent = await findAgent(run.agentId, context)
      out.line(
        `${bold(safeName(agent?.name ?? run.agentId))} asks, in ${bold(run.id)} ${dim(`requested ${ageText(now - (run.completedAt ?? run.createdAt))} ago${lapses}`)}`,
      )
      for (const { tool, callId, input, askedBecause } of calls) {
        out.line(`  ${bold(safeText(tool))} ${dim(safeText(callId))}${argumentLines(JSON.stringify(input), out.look)}`)
        if (askedBecause) out.line(`    ${dim(`Approval is needed because ${safeText(askedBecause)}.`)}`)
      }
    }
    if (pending.length > 0)
      out.line(`Answer with \`${commandLine('approvals approve RUN')}\` or \`${commandLine('approvals deny RUN')}\`.`)
  })

/** The pending calls of a run are answered together: calls that are not named are denied. */
export const approve = (
  which: string,
  callIds: string[],
  { flags, cli }: { flags: JsonFlag; cli: CliContext },
): Promise<void> =>
  answer(which, { flags, cli }, (calls, runId) => {
    const unknown = callIds.find((id) => !calls.some((call) => call.callId === id))
    if (unknown !== undefined)
      throw new Problem(
        'not-found',
        `${runId} has no pending call "${unknown}". \`holdfast approvals\` lists the pending calls.`,
      )
    return calls.map(({ callId, digest }): Verdict => {
      const isMeant = callIds.length === 0 || callIds.includes(callId)
      return isMeant ? { callId, verdict: 'approve', digest } : { callId, verdict: 'deny' }
    })
  })

export const deny = (which: string, flags: JsonFlag & { reason?: string }, cli: CliContext): Promise<void> =>
  answer(which, { flags, cli }, (calls) =>
    calls.map(({ callId }) => ({ callId, verdict: 'deny', ...defined({ reason: flags.reason || undefined }) })),
  )

const answer = (
  which: string,
  { flags, cli }: { flags: JsonFlag; cli: CliContext },
  decide: (calls: ToolCall[], runId: string) => Verdict[],
): Promise<void> =>
  withHome(cli, 'rows', async ({ context, verbs, server }) => {
    const { out } = cli
    const runId = await requireRunId(which, context)
    const verdicts = decide(await openCallsOf(runId, context), runId)
    const next = await verbs.answer(runId, verdicts)
    const answered = verdicts.map(({ callId, verdict }) => ({ tool_call_id: callId, verdict }))
    if (flags.json) return printJson(out, { run_id: runId, continued_by: next, answered })
    for (const { callId, verdict } of verdicts)
      out.line(`${safeText(callId)}: ${verdict === 'deny' ? 'denied' : 'approved'}`)
    if (verdicts.length === 0) return out.line(`This approval was already answered; ${next} continued the turn.`)
    const when = server ? 'now' : 'as soon as a Holdfast process runs on this home'
    out.line(`${next} continues the turn ${when}.`)
  })

const openCallsOf = async (runId: string, context: ServiceContext): Promise<ToolCall[]> =>
  (await listApprovals(context)).find(({ run }) => run.id === runId)?.calls ?? []

const pendingJson = (
  { id, agentId, expiresAt }: { id: string; agentId: string; expiresAt?: number },
  calls: ToolCall[],
) => ({
  run_id: id,
  agent_id: agentId,
  expires_at: timeJson(expiresAt),
  calls: calls.map(({ callId, tool, input }) => ({ tool_call_id: callId, name: tool, arguments: input })),
})
