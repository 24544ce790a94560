import assert from 'node:assert/strict'
import sharp from 'sharp'
import { defined } from '../../src/core/defined.ts'
import type { ImagePart } from '../../src/core/image-part.ts'
import type { InputPart } from '../../src/core/message.ts'
import type { RequestRecord } from '../../src/simulator/recorder.ts'
import type { Reply, Script } from '../../src/simulator/script.ts'
import { tool } from '../harness/tools.ts'
import {
  assertAnswered,
  assertOneExchange,
  bodyText,
  exchange,
  openRecoveryFixture,
  type RecoveryFixture,
} from './fixture-recovery.ts'
import type { RemedyScenario } from './remedy-scenario.ts'

const HELLO: Reply = { text: 'Hello.' }
const CLAUDE = 'anthropic/claude-sonnet-4-5'

/**
 * Remedies that send a changed copy of the request. The stored messages stay unchanged, and the next turn sends them
 * unchanged again, unless the vendor would refuse them again: then the remedy is remembered.
 */
export const REQUEST_REMEDIES: RemedyScenario[] = [
  {
    remedy: 'strip-signatures',
    promise: 'reasoning with a rejected signature is left out of the copy, and the next turn sends it again',
    play: (context) =>
      playThought(context, {
        chain: [CLAUDE],
        thought: { text: 'A thought.', signature: 'c2lnbmVk' },
        refused: { when: { hasSignatures: true }, times: 1, answer: { error: 'signature-rejected' } },
        story: 'signature-rejected → strip-signatures',
        has: (request) => bodyText(request).includes('c2lnbmVk'),
      }),
  },
  {
    remedy: 'drop-encrypted-reasoning',
    promise: 'encrypted reasoning that an account rejects is left out of the copy, in later turns from the start',
    play: (context) =>
      playThought(context, {
        chain: ['openai-responses/gpt-5'],
        thought: { text: 'A thought.', encrypted: 'c2VhbGVk' },
        refused: { when: { hasEncrypted: true }, times: 1, answer: { error: 'encrypted-rejected' } },
        story: 'encrypted-reasoning-rejected → drop-encrypted-reasoning',
        isRemembered: true,
        has: (request) => bodyText(request).includes('c2VhbGVk'),
      }),
  },
  {
    remedy: 'shrink-images',
    promise: 'an image over the stated size is scaled down in the copy and stored unchanged',
    async play(context) {
      const image = await largeImage(2_400, 1_200)
      const setup = await openRecoveryFixture(context, {
        chain: [CLAUDE],
        script: [{ when: { bytesAbove: 100_000 }, times: 1, answer: tooLarge }, { answer: HELLO }],
      })
      const first = await exchange(setup, 'look', { content: [{ type: 'text', text: 'look' }, image] })
      assertAnswered(first, 'Hello.', ['image-too-large → shrink-images'])
      assertOneExchange(first)
      assert.deepEqual(await Promise.all(first.sent.map(sizeSent)), ['2400x1200', '2000x1000'])
      assert.deepEqual(imageIn(first.after.at(-2)), image, 'the history has the original image')
      const second = await exchange(setup, 'two')
      assertAnswered(second, 'Hello.', [])
      assert.equal(await sizeSent(second.sent[0]!), '2400x1200', 'the next turn starts clean')
    },
  },
  {
    remedy: 'strip-images',
    promise: 'a rejected image is left out of the copy, with a note in its place',
    async play(context) {
      const image = await largeImage(40, 20)
      const setup = await openRecoveryFixture(context, {
        script: [{ when: { hasImages: true }, times: 1, answer: { error: 'image-corrupt' } }, { answer: HELLO }],
      })
      const first = await exchange(setup, 'look', { content: [{ type: 'text', text: 'look' }, image] })
      assertAnswered(first, 'Hello.', ['image-rejected → strip-images'])
      assertOneExchange(first)
      const [refused, taken] = first.sent.map(bodyText)
      assert.ok(refused?.includes('image_url') && !taken?.includes('image_url'))
      assert.match(taken ?? '', /An image was left out here/)
      assert.deepEqual(imageIn(first.after.at(-2)), image)
      const second = await exchange(setup, 'two')
      assertAnswered(second, 'Hello.', [])
      assert.ok(bodyText(second.sent[0]).includes('image_url'), 'the next turn starts clean')
    },
  },
  {
    remedy: 'text-only-results',
    promise: 'a model without images in tool results gets text, also in the next turn and after a restart',
    async play(context) {
      const image = await largeImage(40, 20)
      const camera = tool('camera', () => ({ status: 'success', output: 'A picture.', images: [image] }))
      const setup = await openRecoveryFixture(context, {
        chain: [CLAUDE],
        tools: [camera],
        script: [
          { when: { hasToolImages: true }, answer: { error: 'tool-image' } },
          { when: { lastContains: 'take one' }, answer: { calls: [{ id: 'c1', name: 'camera' }] } },
          { answer: HELLO },
        ],
      })
      const first = await exchange(setup, 'take one')
      assertAnswered(first, 'Hello.', ['tool-images-unsupported → text-only-results'])
      const results = first.after.find(({ body }) => body.role === 'tool')?.body
      assert.ok(results?.role === 'tool')
      assert.deepEqual(results.outcomes[0]?.images, [image], 'the history has the image')
      const second = await exchange(setup, 'two')
      assertAnswered(second, 'Hello.', [])
      await setup.fixture.restart()
      const third = await exchange(setup, 'three')
      assertAnswered(third, 'Hello.', [])
      assert.match(bodyText(third.sent[0]), /A picture\./)
    },
  },
  {
    remedy: 'drop-long-context-beta',
    promise:
      'an account without the long context gets a request without the beta header, in later turns from the start',
    async play(context) {
      const beta = (request: RequestRecord) => String(request.headers['anthropic-beta'] ?? '').includes('context-1m')
      const setup = await openRecoveryFixture(context, {
        chain: [`${CLAUDE}[1m]`],
        script: [
          { when: { headers: { 'anthropic-beta': 'context-1m' } }, times: 1, answer: { error: 'long-context-beta' } },
          { answer: HELLO },
        ],
      })
      const first = await exchange(setup, 'one')
      assertAnswered(first, 'Hello.', ['long-context-beta-refused → drop-long-context-beta'])
      assertOneExchange(first)
      assert.deepEqual(first.sent.map(beta), [true, false])
      const second = await exchange(setup, 'two')
      assertAnswered(second, 'Hello.', [])
      assert.deepEqual(second.sent.map(beta), [false])
    },
  },
  {
    remedy: 'relax-schemas',
    promise: 'a server that cannot express a schema as a grammar gets a relaxed copy, in later turns from the start',
    async play(context) {
      const inputSchema = { type: 'object', properties: { code: { type: 'string', pattern: '^[A-Z]{3}$' } } }
      const strict = (request: RequestRecord) => bodyText(request).includes('^[A-Z]{3}$')
      const setup = await openRecoveryFixture(context, {
        chain: ['llamacpp/m'],
        tools: [tool('lookup', undefined, { inputSchema })],
        script: [{ when: { contains: '"pattern"' }, times: 1, answer: { error: 'grammar' } }, { answer: HELLO }],
      })
      const first = await exchange(setup, 'one')
      assertAnswered(first, 'Hello.', ['grammar-rejected → relax-schemas'])
      assertOneExchange(first)
      assert.deepEqual(first.sent.map(strict), [true, false])
      const second = await exchange(setup, 'two')
      assertAnswered(second, 'Hello.', [])
      assert.deepEqual(second.sent.map(strict), [false])
    },
  },
  {
    remedy: 'cap-output',
    promise: 'the output cap is lowered to the tokens that the provider says are left',
    async play(context) {
      const setup = await openRecoveryFixture(context, {
        chain: [CLAUDE],
        script: [
          { when: { maxTokensAbove: 1_024 }, times: 1, answer: { error: 'output-cap', limit: 1_024 } },
          { answer: HELLO },
        ],
      })
      const first = await exchange(setup, 'one')
      assertAnswered(first, 'Hello.', ['output-cap-too-large → cap-output'])
      assertOneExchange(first)
      assert.deepEqual(first.sent.map(maxTokens), [64_000, 960], 'with a margin for counting')
      assert.equal(first.failures[0]?.outputCap, 960)
      const second = await exchange(setup, 'two')
      assertAnswered(second, 'Hello.', [])
      assert.deepEqual(second.sent.map(maxTokens), [64_000])
    },
  },
]

const tooLarge = {
  error: 'image-too-large' as const,
  message:
    'messages.0.content.1.image.source.base64.data: At least one of the image dimensions exceed max allowed size: 2000 pixels',
}

type Thought = {
  chain: [string]
  thought: Reply['reasoning']
  refused: Script[number]
  story: string
  isRemembered?: true
  has(request: RequestRecord | undefined): boolean
}

async function playThought(context: Parameters<RemedyScenario['play']>[0], plot: Thought): Promise<void> {
  const reply: Reply = { ...HELLO, ...defined({ reasoning: plot.thought }) }
  const setup: RecoveryFixture = await openRecoveryFixture(context, {
    chain: plot.chain,
    script: [plot.refused, { answer: reply }],
  })
  assertAnswered(await exchange(setup, 'one'), 'Hello.', [])
  const second = await exchange(setup, 'two')
  assertAnswered(second, 'Hello.', [plot.story])
  assertOneExchange(second)
  assert.deepEqual(second.sent.map(plot.has), [true, false])
  const third = await exchange(setup, 'three')
  assertAnswered(third, 'Hello.', [])
  assert.deepEqual(third.sent.map(plot.has), [!plot.isRemembered])
  assert.ok(JSON.stringify(third.after).includes(plot.thought?.signature ?? plot.thought?.encrypted ?? ''))
}

/** Noise, so that it cannot be compressed: about three bytes a pixel. */
async function largeImage(width: number, height: number): Promise<ImagePart> {
  const noise = { type: 'gaussian' as const, mean: 128, sigma: 30 }
  const data = await sharp({ create: { width, height, channels: 3, background: '#888', noise } })
    .jpeg({ quality: 60 })
    .toBuffer()
  return { type: 'image', source: { mediaType: 'image/jpeg', data: data.toString('base64') } }
}

async function sizeSent({ body }: RequestRecord): Promise<string> {
  const data = /"data":"([^"]+)"/.exec(JSON.stringify(body))?.[1]
  const { width, height } = await sharp(Buffer.from(data ?? '', 'base64')).metadata()
  return `${width}x${height}`
}

const imageIn = (message: { body: object } | undefined): InputPart | undefined =>
  (message?.body as { content: InputPart[] } | undefined)?.content.find(({ type }) => type === 'image')

const maxTokens = ({ body }: RequestRecord): unknown => (body as { max_tokens?: number }).max_tokens
