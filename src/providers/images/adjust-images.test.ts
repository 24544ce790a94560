import assert from 'node:assert/strict'
import { test } from 'node:test'
import sharp from 'sharp'
import type { ImagePart } from '../../core/image-part.ts'
import type { InputPart, MessageBody } from '../../core/message.ts'
import { adjustImages, withAdjustedImages } from './adjust-images.ts'
import { imageData } from './image-source.ts'
import { shrinkImages } from './shrink-images.ts'
import { stripImages } from './strip-images.ts'

const noise = (width: number, height: number) =>
  sharp({
    create: { width, height, channels: 3, background: 'red', noise: { type: 'gaussian', mean: 128, sigma: 60 } },
  })

const imageOf = (mediaType: string, bytes: Buffer): ImagePart => ({
  type: 'image',
  source: { mediaType, data: bytes.toString('base64') },
})
const userMessage = (...content: InputPart[]): MessageBody => ({ role: 'user', content })

async function shrunk(messages: readonly MessageBody[], limits: { maxSide: number; maxBytes?: number }) {
  const result = await shrinkImages(messages, limits)
  assert.ok(result.type === 'shrunk')
  return result.messages
}

async function looksOf(body: MessageBody | undefined) {
  assert.ok(body?.role === 'user')
  const image = body.content.find((part) => part.type === 'image')
  const { mediaType, data } = imageData(image!)!
  const bytes = Buffer.from(data, 'base64')
  const { width, height, format, exif, orientation } = await sharp(bytes).metadata()
  return { mediaType, width, height, format, exif, orientation, size: bytes.length }
}

test('a large image is shrunk with its aspect ratio kept, its rotation applied and its metadata removed', async () => {
  const bytes = await noise(1_200, 600)
    .withExif({ IFD0: { Artist: 'Somebody' } })
    .withMetadata({ orientation: 6 })
    .jpeg()
    .toBuffer()
  const [body] = await shrunk([userMessage({ type: 'text', text: 'Look' }, imageOf('image/jpeg', bytes))], {
    maxSide: 300,
  })
  const looks = await looksOf(body)
  assert.deepEqual([looks.mediaType, looks.format, looks.width, looks.height], ['image/jpeg', 'jpeg', 150, 300])
  assert.deepEqual([looks.exif, looks.orientation], [undefined, undefined])
})

test('a data URL is shrunk too, and a GIF becomes a format that every vendor accepts', async () => {
  const gif = await noise(500, 400).gif().toBuffer()
  const url = `data:image/gif;base64,${gif.toString('base64')}`
  const [body] = await shrunk([userMessage({ type: 'image', source: { url } })], { maxSide: 100 })
  const looks = await looksOf(body)
  assert.deepEqual([looks.mediaType, looks.format, looks.width, looks.height], ['image/png', 'png', 100, 80])
})

test('an image with too many bytes is shrunk to fit, also if its sides are within the limit', async () => {
  const bytes = await noise(400, 400).png().toBuffer()
  const maxBytes = 20_000
  assert.ok(bytes.length > maxBytes)
  const [body] = await shrunk([userMessage(imageOf('image/png', bytes))], { maxSide: 8_000, maxBytes })
  const looks = await looksOf(body)
  assert.ok(looks.size <= maxBytes, `${looks.size}`)
  assert.equal(looks.width, looks.height)
})

test('small images, image URLs and messages without images stay the same objects', async () => {
  const small = await noise(50, 40).png().toBuffer()
  const messages: MessageBody[] = [
    userMessage({ type: 'text', text: 'Look' }, imageOf('image/png', small)),
    userMessage({ type: 'image', source: { url: 'https://example.com/huge.png' } }),
    { role: 'assistant', content: [{ type: 'text', text: 'Nice' }], calls: [] },
  ]
  const after = await shrunk(messages, { maxSide: 100 })
  for (const [index, body] of messages.entries()) assert.equal(after[index], body)
})

test('the same message under the same limits gives the same object each time', async () => {
  const bytes = await noise(300, 300).png().toBuffer()
  const messages: MessageBody[] = [
    userMessage(imageOf('image/png', bytes)),
    {
      role: 'tool',
      outcomes: [{ callId: 'a', status: 'success', output: 'x', images: [imageOf('image/png', bytes)] }],
    },
  ]
  const first = await shrunk(messages, { maxSide: 100 })
  const second = await shrunk(messages, { maxSide: 100 })
  assert.notEqual(first[0], messages[0])
  assert.equal(first[0], second[0])
  assert.equal(first[1], second[1])
  assert.notEqual((await shrunk(messages, { maxSide: 90 }))[0], first[0])
})

test('stored messages are never changed', async () => {
  const bytes = await noise(300, 300).png().toBuffer()
  const messages = [userMessage(imageOf('image/png', bytes))]
  const before = structuredClone(messages)
  await adjustImages({ messages, adjustments: { shrinkImages: { maxSide: 10 } } })
  await adjustImages({ messages, adjustments: { stripImages: true } })
  assert.deepEqual(messages, before)
})

test('an unreadable image becomes a text that says so, and other images of the message are kept', async () => {
  const good = imageOf('image/png', await noise(20, 20).png().toBuffer())
  const cut = (await noise(400, 400).jpeg().toBuffer()).subarray(0, 900)
  const after = await shrunk(
    [userMessage(imageOf('image/png', Buffer.from('no picture')), good, imageOf('image/jpeg', cut))],
    { maxSide: 100 },
  )
  const [body] = after
  assert.ok(body?.role === 'user')
  const [first, second, third] = body.content
  assert.match(first?.type === 'text' ? first.text : '', /^\[An image was left out here: it cannot be read/)
  assert.equal(second, good)
  assert.match(third?.type === 'text' ? third.text : '', /^\[An image was left out here: it cannot be read/)
})

test('stripped images are replaced by a text that says so, also in tool results', async () => {
  const image = imageOf('image/png', Buffer.from('x'))
  const results: MessageBody = {
    role: 'tool',
    outcomes: [
      { callId: 'a', status: 'success', output: 'seen', images: [image] },
      { callId: 'b', status: 'success', output: '' },
    ],
  }
  const note = '[An image was left out here: the model did not take it.]'
  assert.deepEqual(await stripImages([userMessage({ type: 'text', text: 'Look' }, image), results]), [
    userMessage({ type: 'text', text: 'Look' }, { type: 'text', text: note }),
    {
      role: 'tool',
      outcomes: [
        { callId: 'a', status: 'success', output: `seen\n${note}` },
        { callId: 'b', status: 'success', output: '' },
      ],
    },
  ])
})

test('if sharp does not load, the failure has the reason, and requests without images still work', async () => {
  const broken = () => Promise.reject(new Error('Could not load the "sharp" module\nmany lines'))
  const image = imageOf('image/png', Buffer.from('x'))
  const result = await shrinkImages([userMessage(image)], { maxSide: 10 }, broken)
  assert.ok(result.type === 'failure')
  assert.equal(result.failure.kind, 'image-too-large')
  assert.match(result.failure.detail, /sharp does not load: Could not load the "sharp" module$/)
  assert.equal(
    (await shrinkImages([userMessage({ type: 'text', text: 'Hi' })], { maxSide: 10 }, broken)).type,
    'shrunk',
  )
})

test('a sharp that is not installed is a failure that says how to install it', async () => {
  const image = imageOf('image/png', Buffer.from('x'))
  // @ts-expect-error: no package has this name.
  const missing = async () => (await import('sharp-is-not-installed')).default
  const result = await shrinkImages([userMessage(image)], { maxSide: 10 }, missing)
  assert.ok(result.type === 'failure')
  assert.match(result.failure.detail, /sharp is not installed\. Install it beside Holdfast with `npm install sharp`\.$/)
})

test('a request is streamed with its images adjusted', async () => {
  const image = imageOf('image/png', Buffer.from('x'))
  const request = { model: 'm', system: '', tools: [], messages: [userMessage(image)] }
  const sent: unknown[] = []
  const stream = async function* (asked: { messages: unknown }) {
    sent.push(asked.messages)
    yield { type: 'finish', finish: 'stop' } as const
  }
  await all(withAdjustedImages(request, stream))
  await all(withAdjustedImages({ ...request, adjustments: { stripImages: true } }, stream))
  assert.equal(sent[0], request.messages)
  assert.ok(!JSON.stringify(sent[1]).includes('"image"'))
})

async function all<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const list: Item[] = []
  for await (const item of items) list.push(item)
  return list
}
