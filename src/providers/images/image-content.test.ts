import assert from 'node:assert/strict'
import { test } from 'node:test'
import sharp from 'sharp'
import { shrinkImages } from './shrink-images.ts'

const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="4000" height="4000"><filter id="f"><feTurbulence baseFrequency="0.5" numOctaves="10"/></filter><rect width="4000" height="4000" filter="url(#f)"/></svg>`

async function noteFor(mediaType: string, bytes: Buffer): Promise<string> {
  const image = { type: 'image', source: { mediaType, data: bytes.toString('base64') } } as const
  const result = await shrinkImages([{ role: 'user', content: [image] }], { maxSide: 100 })
  assert.ok(result.type === 'shrunk')
  const [body] = result.messages
  assert.ok(body?.role === 'user')
  const [part] = body.content
  return part?.type === 'text' ? part.text : 'an image'
}

test('an SVG never reaches the decoder, whatever its type says and whatever comes before it', async () => {
  for (const type of ['image/svg+xml', 'image/png', 'image/jpeg', 'text/plain'])
    for (const before of ['', ' ', '\uFEFF', '<?xml version="1.0"?>', '<!-- x -->', '\n\n'])
      assert.match(await noteFor(type, Buffer.from(before + svg)), /not a PNG, JPEG, GIF or WebP image/)
})

test('the declared type of an image is checked against its content, for every pair of types', async () => {
  const plain = sharp({ create: { width: 300, height: 200, channels: 3, background: 'red' } })
  const formats = ['png', 'jpeg', 'gif', 'webp'] as const
  for (const format of formats) {
    const bytes = await plain.clone().toFormat(format).toBuffer()
    for (const declared of formats) {
      const note = await noteFor(`image/${declared}`, bytes)
      if (format === declared) assert.equal(note, 'an image')
      else assert.match(note, new RegExp(`declared as image/${declared} and is image/${format}`))
    }
  }
})

test('an image with more pixels than fit into memory is left out before it is decoded', async () => {
  const bytes = await sharp({ create: { width: 9_000, height: 9_000, channels: 3, background: 'red' } })
    .png()
    .toBuffer()
  const before = process.cpuUsage()
  assert.match(await noteFor('image/png', bytes), /pixel limit/)
  const { user, system } = process.cpuUsage(before)
  assert.ok(user + system < 1_000_000)
})
