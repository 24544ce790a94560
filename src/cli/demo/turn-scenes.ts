import type { Agent, Conversation } from '../../core/agent.ts'
import type { NumberedChunk } from '../../core/chunk.ts'
import type { RunId } from '../../core/id.ts'
import type { Message } from '../../core/message.ts'
import { answerApproval } from '../../service/approvals/answer-approval.ts'
import { listApprovals } from '../../service/approvals/approvals.ts'
import { requireConversation } from '../../service/conversations/conversations.ts'
import { cancelRun, showRun } from '../../service/runs/runs.ts'
import type { ServiceContext } from '../../service/service-context.ts'
import { withApp } from '../cli-context.ts'
import { agentOrFirst } from '../first-agent.ts'
import { followRun } from '../follow-run.ts'
import { localVerbs } from '../verbs.ts'
import { requireSeen, type Stage } from './stage.ts'

type TurnStage = { context: ServiceContext; agent: Agent; conversation: Conversation; stage: Stage }

/** The story is cancelled after this many chunks. */
const CANCEL_AFTER_CHUNKS = 30

/** The scenes that run in one process. */
export const playTurns = (stage: Stage): Promise<void> =>
  withApp(stage, 'owner', async ({ context }) => {
    const agent = await agentOrFirst(undefined, { context, verbs: localVerbs(context) })
    const conversation = await requireConversation(agent, undefined, context)
    const set = { context, agent, conversation, stage }
    await toolScene(set)
    await approvalScene(set)
    await cancelScene(set)
  })

async function toolScene(set: TurnStage): Promise<void> {
  const { narrator } = set.stage
  narrator.scene('A turn with a tool')
  await narrator.say('The agent streams its answer and calls a tool.')
  const { run, messages } = await sendAndFollow('what time is it in Tokyo', set)
  requireSeen(run.stopReason === 'end_turn' && outcomesIn(messages).includes('success'), 'a turn that used a tool')
  await narrator.seen('The call was on disk before the tool ran, and its result before the model was called again.')
}

async function approvalScene(set: TurnStage): Promise<void> {
  const { context, stage } = set
  const { narrator } = stage
  narrator.scene('A tool that needs your approval')
  await narrator.say('A postcard cannot be unsent, so the tool needs your approval first.')
  const { run } = await sendAndFollow('send a postcard to Ada saying the kelp holds', set)
  const calls = (await listApprovals(context)).find((pending) => pending.run.id === run.id)?.calls ?? []
  requireSeen(run.waiting && calls.length === 1, 'a turn that waits for approval')
  await narrator.say(
    'Nothing was sent yet. The approval can wait for days and survives restarts. The demo answers for you:',
  )
  await narrator.type('y')
  const verdicts = calls.map(({ callId, digest }) => ({ callId, verdict: 'approve' as const, digest }))
  const answered = await follow(await answerApproval({ runId: run.id, verdicts }, context), set)
  requireSeen(outcomesIn(answered.messages).includes('success'), 'the approved call to be carried out')
  await narrator.seen('The approval is valid for exactly this call. Other arguments would need another approval.')
}

async function cancelScene(set: TurnStage): Promise<void> {
  const { context, stage } = set
  const { narrator, out } = stage
  narrator.scene('A cancel in the middle of an answer')
  await narrator.say('A long answer begins, and Ctrl-C cancels it.')
  let heard = 0
  const { run, messages } = await sendAndFollow('tell me a long story', set, (runId, { chunk }) => {
    if (chunk.message_type === 'assistant_message') heard += 1
    if (heard !== CANCEL_AFTER_CHUNKS || chunk.message_type !== 'assistant_message') return
    out.write(out.look.paint.yellow(' ^C'))
    void cancelRun(runId, context)
  })
  const wasCut = messages.some(({ body }) => body.role === 'assistant' && body.cut)
  requireSeen(run.status === 'cancelled' && wasCut, 'a story cut off by a cancel')
  await narrator.seen('The turn stopped at once. The text so far is kept and marked as cut off.')
}

type OnChunk = (runId: RunId, chunk: NumberedChunk) => void

async function sendAndFollow(text: string, set: TurnStage, onChunk?: OnChunk) {
  const { context, agent, conversation, stage } = set
  await stage.narrator.type(text)
  const { runId } = await localVerbs(context).send({ agent, conversationId: conversation.id, text })
  return follow(runId, set, onChunk)
}

async function follow(runId: RunId, { context, stage }: TurnStage, onChunk?: OnChunk) {
  const { signal } = new AbortController()
  const listen = onChunk ? { onChunk: (chunk: NumberedChunk) => onChunk(runId, chunk) } : {}
  await followRun(runId, {
    session: { context, verbs: localVerbs(context) },
    signal,
    answers: stage.out,
    notes: stage.out,
    ...listen,
  })
  return showRun(runId, context)
}

const outcomesIn = (messages: readonly Message[]): string[] =>
  messages.flatMap(({ body }) => (body.role === 'tool' ? body.outcomes.map(({ status }) => status) : []))
