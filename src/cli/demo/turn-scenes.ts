import type { Agent, Conversation } from '../../core/agent.ts'
import type { NumberedChunk } from '../../core/chunk.ts'
import type { RunId } from '../../core/id.ts'
import type { Message } from '../../core/message.ts'
import { answerApproval } from '../../service/approvals/answer-approval.ts'
import { listApprovals } from '../../service/approvals/approvals.ts'
import { requireConversation } from '../../service/conversations/conversations.ts'
import type { Desk } from '../../service/desk.ts'
import { cancelRun, showRun } from '../../service/runs/runs.ts'
import { withApp } from '../context.ts'
import { agentOrFirst } from '../first-agent.ts'
import { followRun } from '../follow-run.ts'
import { ownVerbs } from '../verbs.ts'
import { requireSeen, type Stage } from './stage.ts'

type Set = { desk: Desk; agent: Agent; conversation: Conversation; stage: Stage }

/** Chunks of the story that are heard before it is cancelled. */
const HEARD_CHUNKS = 30

/** The scenes that one process plays from beginning to end. */
export const playTurns = (stage: Stage): Promise<void> =>
  withApp(stage, 'owner', async ({ desk }) => {
    const agent = await agentOrFirst(undefined, { desk, verbs: ownVerbs(desk) })
    const conversation = await requireConversation(agent, undefined, desk)
    const set = { desk, agent, conversation, stage }
    await toolScene(set)
    await approvalScene(set)
    await cancelScene(set)
  })

async function toolScene(set: Set): Promise<void> {
  const { tell } = set.stage
  tell.scene('A turn with a tool')
  await tell.say('The agent answers as it thinks, and calls a tool on the way.')
  const { run, messages } = await ask('what time is it in Tokyo', set)
  requireSeen(run.stopReason === 'end_turn' && outcomesIn(messages).includes('success'), 'a turn that used a tool')
  await tell.seen('The call was on disk before the tool ran, its result before the next word was asked for.')
}

async function approvalScene(set: Set): Promise<void> {
  const { desk, stage } = set
  const { tell } = stage
  tell.scene('A tool that needs your word')
  await tell.say('A postcard cannot be taken back, so the agent has to ask first.')
  const { run } = await ask('send a postcard to Ada saying the kelp holds', set)
  const calls = (await listApprovals(desk)).find((pending) => pending.run.id === run.id)?.calls ?? []
  requireSeen(run.waiting && calls.length === 1, 'a turn that waits for approval')
  await tell.say('Nothing was sent yet. It could wait for days, through restarts. The demo answers for you:')
  await tell.type('y')
  const verdicts = calls.map(({ callId, digest }) => ({ callId, verdict: 'approve' as const, digest }))
  const answered = await follow(await answerApproval({ runId: run.id, verdicts }, desk), set)
  requireSeen(outcomesIn(answered.messages).includes('success'), 'the approved call was carried out')
  await tell.seen('The approval was for exactly this call. Other arguments would have needed another one.')
}

async function cancelScene(set: Set): Promise<void> {
  const { desk, stage } = set
  const { tell, out } = stage
  tell.scene('A cancel in mid-sentence')
  await tell.say('A long answer begins, and somebody has heard enough.')
  let heard = 0
  const { run, messages } = await ask('tell me a long story', set, (runId, { chunk }) => {
    if (chunk.message_type === 'assistant_message') heard += 1
    if (heard !== HEARD_CHUNKS || chunk.message_type !== 'assistant_message') return
    out.write(out.look.paint.yellow(' ^C'))
    void cancelRun(runId, desk)
  })
  const wasCut = messages.some(({ body }) => body.role === 'assistant' && body.cut)
  requireSeen(run.status === 'cancelled' && wasCut, 'a story cut off by a cancel')
  await tell.seen('The turn stopped at once. What you had read is kept, marked as cut off.')
}

type OnChunk = (runId: RunId, chunk: NumberedChunk) => void

async function ask(text: string, set: Set, onChunk?: OnChunk) {
  const { desk, agent, conversation, stage } = set
  await stage.tell.type(text)
  return follow(await ownVerbs(desk).send({ agent, conversationId: conversation.id, text }), set, onChunk)
}

async function follow(runId: RunId, { desk, stage }: Set, onChunk?: OnChunk) {
  const { signal } = new AbortController()
  const listen = onChunk ? { onChunk: (chunk: NumberedChunk) => onChunk(runId, chunk) } : {}
  await followRun(runId, {
    house: { desk, verbs: ownVerbs(desk) },
    signal,
    answers: stage.out,
    notes: stage.out,
    ...listen,
  })
  return showRun(runId, desk)
}

const outcomesIn = (messages: readonly Message[]): string[] =>
  messages.flatMap(({ body }) => (body.role === 'tool' ? body.outcomes.map(({ status }) => status) : []))
