import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DIALECTS } from '../core/message.ts'
import type { Grant } from '../ports/credentials.ts'
import type { ModelRequest } from '../ports/model.ts'
import { classify } from './classify/classify.ts'
import { WIRE_DIALECTS } from './dialects.ts'

/** The contract of every dialect; a new dialect is tested as soon as it is in the table. */

const grant: Grant = { credentialId: 'credential-a', secret: 'sk-a', kind: 'api-key' }

const request: ModelRequest = {
  model: 'model-1',
  system: 'Be brief.',
  messages: [
    { role: 'user', content: [{ type: 'text', text: 'How is Bergen?' }] },
    {
      role: 'assistant',
      content: [{ type: 'text', text: 'I look.' }],
      calls: [
        {
          callId: 'call-1',
          tool: 'forecast',
          input: { city: 'Bergen' },
          digest: 'any',
          needsApproval: false,
          effects: 'none',
          parallel: false,
        },
      ],
    },
    { role: 'tool', outcomes: [{ callId: 'call-1', status: 'success', output: 'It rains.' }] },
  ],
  tools: [{ name: 'forecast', description: 'Tells the weather', inputSchema: { type: 'object' } }],
}

for (const name of DIALECTS) {
  const entry = WIRE_DIALECTS[name]

  test(`${name}: the table entry matches the dialect`, async () => {
    const dialect = await entry.load()
    assert.equal(dialect.name, name)
    assert.equal(dialect.embeddings !== undefined, entry.embeds)
  })

  test(`${name}: a request contains the system prompt, the history, its calls, the tools and the key`, async () => {
    const { encode } = await entry.load()
    const { path, headers, body } = encode(request, { grant, quirks: {} })
    assert.match(path, /^\//)
    assert.equal(Object.values(headers).filter((value) => value.includes('sk-a')).length, 1)
    assert.ok(!body.includes('sk-a'))
    const texts = new Set(textsIn(JSON.parse(body)))
    for (const text of ['Be brief.', 'How is Bergen?', 'I look.', 'forecast', 'Tells the weather'])
      assert.ok(texts.has(text), `${text} is not in ${body}`)
    assert.match(body, /It rains\./)
    assert.match(body, /city[\\"]+:[\\"]+Bergen/)
  })

  test(`${name}: an unreadable event is a failure, and an end without a finish reason is not a finish`, async () => {
    const { newDecoder } = await entry.load()
    const context = { provider: 'p', model: 'm', headers: {}, classify }
    const parts = newDecoder(context).take({ data: '{"half' })
    assert.equal(parts.at(-1)?.type, 'failure')
    assert.ok(
      newDecoder(context)
        .end()
        .every(({ type }) => type !== 'finish'),
    )
  })

  test(`${name}: a body that is not a list of models and an entry that is not a model give undefined`, async () => {
    const { models } = await entry.load()
    assert.match(models.path(), /^\//)
    for (const body of [undefined, null, 'text', {}, { data: 'none', models: 'none' }])
      assert.equal(models.pageOf(body), undefined)
    assert.equal(models.modelOf({}), undefined)
  })

  test(`${name}: a response without vectors gives undefined`, async () => {
    const { embeddings } = await entry.load()
    for (const answer of [undefined, null, 'text', {}, { data: 'none', embeddings: 'none' }])
      assert.equal(embeddings?.vectorsIn(answer), undefined)
  })
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return value !== null && typeof value === 'object' ? Object.values(value).flatMap(textsIn) : []
}
