import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Chunk } from '../../core/chunk.ts'
import type { MessageId } from '../../core/id.ts'
import { answerOfRequest, approvalRequestId, sliceOtid } from './slice-ids.ts'
import { newStreamView, type StreamEvent, type ViewOptions } from './stream-view.ts'
import { wireMessages } from './wire/message.ts'

const RUN = 'run-3c6a1fb0-1111-4111-8111-111111111111'
const ANSWER: MessageId = 'message-3c6a1fb0-2222-4222-8222-2222222222ff'
const RESULTS: MessageId = 'message-3c6a1fb0-3333-4333-8333-333333333333'

function seen(chunks: Chunk[], more: Partial<ViewOptions> = {}): StreamEvent[] {
  const view = newStreamView({ runId: RUN, detail: 'tokens', createdAt: 0, ...more })
  return chunks.flatMap((chunk, index) => {
    const events = view.take({ number: index + 1, event: 0, chunk })
    return events === 'done' ? [] : events
  })
}

const text = (content: string): Chunk => ({ message_type: 'assistant_message', id: ANSWER, content })
const thought = (reasoning: string): Chunk => ({ message_type: 'reasoning_message', id: ANSWER, reasoning })
const returned = (id: string): Chunk => ({
  message_type: 'tool_return_message',
  id: RESULTS,
  name: id,
  tool_return: { tool_call_id: id, status: 'success', tool_return: `${id} done` },
})

test('the low seven bits of an otid are the slice number, and an approval request has the id below its answer', () => {
  assert.equal(sliceOtid(ANSWER, 0), '3c6a1fb0-2222-4222-8222-222222222280')
  assert.equal(sliceOtid(ANSWER, 3), '3c6a1fb0-2222-4222-8222-222222222283')
  assert.equal(approvalRequestId(ANSWER), 'message-3c6a1fb0-2222-4222-8222-2222222222fe')
  assert.equal(answerOfRequest(approvalRequestId(ANSWER)), ANSWER)
})

test('a streamed answer has the same ids as its history, in tokens and in steps', () => {
  const chunks: Chunk[] = [
    thought(' '),
    thought('I '),
    thought('think'),
    text('Hel'),
    text('lo'),
    thought('more'),
    text('!'),
    {
      message_type: 'tool_call_message',
      id: ANSWER,
      tool_calls: [{ tool_call_id: 'a', name: 'tool', arguments: '{}' }],
    },
    { message_type: 'stop_reason', stop_reason: 'end_turn' },
  ]
  const stored = wireMessages([
    {
      id: ANSWER,
      runId: RUN,
      stepId: 'step-3c6a1fb0-2222-4222-8222-2222222222ff',
      createdAt: 0,
      position: 0,
      conversationId: 'conv-3c6a1fb0-4444-4444-8444-444444444444',
      body: {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: ' I think' },
          { type: 'text', text: 'Hello' },
          { type: 'reasoning', text: 'more' },
          { type: 'redacted-reasoning', data: 'hidden' },
          { type: 'text', text: '!' },
        ],
        calls: [
          {
            callId: 'a',
            tool: 'tool',
            input: {},
            digest: '',
            needsApproval: false,
            effects: 'none',
            parallel: true,
          },
        ],
      },
    },
  ])
  const steps = seen(chunks, { detail: 'steps' }).filter(({ isTerminal }) => !isTerminal)
  const plain = (messages: object[]) => messages.map((message) => ({ ...message, seq_id: null }))
  const readable = stored.filter(({ message_type }) => message_type !== 'hidden_reasoning_message')
  assert.deepEqual(plain(steps.map(({ data }) => data)), plain(readable))
  assert.equal(new Set(stored.map(({ otid }) => otid)).size, stored.length)

  const tokens = seen(chunks).filter(({ isTerminal }) => !isTerminal)
  const otids = [...new Set(tokens.map(({ data }) => data.otid))]
  assert.deepEqual(
    otids,
    readable.map(({ otid }) => otid),
  )
  assert.deepEqual(
    tokens.map(({ seq }) => seq),
    [2, 3, 4, 5, 6, 7, 8],
  )
})

test('blank reasoning is never sent and takes no slice number', () => {
  const [only] = seen([thought(' '), thought('\n'), text('Hello')])
  assert.equal(only?.data.otid, sliceOtid(ANSWER, 0))
})

test('results are sent together, in the order of their calls, when the last one arrives', () => {
  const calls = ['a', 'b'].map((id) => ({ tool_call_id: id, name: id, arguments: '{}' }))
  const events = seen([
    { message_type: 'tool_call_message', id: ANSWER, tool_calls: calls },
    returned('b'),
    returned('a'),
    text('next'),
  ])
  assert.deepEqual(
    events.map(({ seq }) => seq),
    [1, 3, 4],
  )
  assert.deepEqual(
    (events[1]!.data.tool_returns as { tool_call_id: string }[]).map((one) => one.tool_call_id),
    ['a', 'b'],
  )

  const inherited = {
    answerId: ANSWER,
    calls: [
      { callId: 'a', tool: 'a' },
      { callId: 'b', tool: 'b' },
    ],
  }
  const later = seen([returned('b'), returned('a')], { inherited })
  assert.equal(later.length, 1)
  assert.equal(later[0]?.data.step_id, 'step-3c6a1fb0-2222-4222-8222-2222222222ff')
})

test('an answer that was cut off by its token limit is not an error', () => {
  const error: Chunk = { message_type: 'error_message', error_type: 'llm_error', message: 'cut', detail: null }
  assert.deepEqual(seen([{ message_type: 'stop_reason', stop_reason: 'max_tokens_exceeded' }, error]).length, 1)
  assert.equal(seen([{ message_type: 'stop_reason', stop_reason: 'llm_api_error' }, error])[1]?.name, 'error')
})
