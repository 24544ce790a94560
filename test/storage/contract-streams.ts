import assert from 'node:assert/strict'
import { defined } from '../../src/core/defined.ts'
import type { RunId } from '../../src/core/id.ts'
import type { ChunkAppend } from '../../src/ports/chunk-store.ts'
import type { ContractTests } from './contract.ts'
import { AT, newId } from './fixture-storage.ts'

const append = (runId: RunId, bodies: string[], more: Partial<ChunkAppend> = {}): ChunkAppend => ({
  runId,
  fence: 1,
  floor: 0,
  chunks: bodies.map((body) => ({ event: 0, body })),
  ended: false,
  at: AT,
  ...more,
})

export const STREAMS: ContractTests = {
  'chunks of each stream are numbered from 1 without gaps': async ({ chunks }) => {
    const [one, other] = [newId.run(), newId.run()]
    assert.deepEqual(await chunks.open(one, 1), { last: 0, lastEvent: 0, ended: false, mayHaveLost: false })
    await chunks.open(other, 1)
    assert.deepEqual(await chunks.append([append(one, ['"a"', '"b"']), append(other, ['"x"'])]), [1, 1])
    assert.deepEqual(await chunks.append([append(other, ['"y"']), append(one, ['"c"'])]), [2, 3])
    assert.deepEqual(await chunks.read(one, 0, 10), [
      { number: 1, event: 0, body: '"a"' },
      { number: 2, event: 0, body: '"b"' },
      { number: 3, event: 0, body: '"c"' },
    ])
  },

  'a reader resumes after any number, in pages of any size': async ({ chunks }) => {
    const id = newId.run()
    await chunks.open(id, 1)
    for (const batch of [['1', '2', '3'], ['4'], ['5', '6', '7', '8']]) await chunks.append([append(id, batch)])
    for (let after = 0; after <= 9; after++)
      for (const limit of [1, 2, 100]) {
        const expected = [1, 2, 3, 4, 5, 6, 7, 8].filter((number) => number > after).slice(0, limit)
        const read = await chunks.read(id, after, limit)
        assert.deepEqual(
          read.map(({ number, body }) => [number, body]),
          expected.map((number) => [number, String(number)]),
        )
      }
  },

  'bodies of any content are read back byte for byte': async ({ chunks }) => {
    const id = newId.run()
    const bodies = ['""', '"12 3\\n"', '{"a":\n 1}', JSON.stringify('é 漢 🦀 \u0000 \ud800'), '" 7\n"']
    await chunks.open(id, 1)
    await chunks.append([append(id, bodies)])
    assert.deepEqual(
      (await chunks.read(id, 0, 10)).map(({ body }) => body),
      bodies,
    )
  },

  'the second of a chunk is read back, and a chunk that was stored without one has none': async ({ chunks }) => {
    const id = newId.run()
    await chunks.open(id, 1)
    const seconds = [undefined, 1_000, 1_000, 5_000]
    const added = seconds.map((at) => ({ event: 0, body: '"a 1\\n"', ...defined({ at }) }))
    await chunks.append([append(id, [], { chunks: added })])
    assert.deepEqual(
      (await chunks.read(id, 0, 10)).map(({ at }) => at),
      seconds,
    )
  },

  'a retried append is recognized by its content, not by its length': async ({ chunks }) => {
    const id = newId.run()
    await chunks.open(id, 1)
    assert.deepEqual(await chunks.append([append(id, ['"a"', '"b"'], { last: 0 })]), [1])
    assert.deepEqual(await chunks.append([append(id, ['"a"', '"b"'], { last: 0 })]), [1], 'its own first try')
    assert.deepEqual(
      await chunks.append([append(id, ['"x"', '"y"'], { last: 0 })]),
      ['fenced'],
      'another writer wrote there',
    )
    assert.deepEqual(
      (await chunks.read(id, 0, 10)).map(({ body }) => body),
      ['"a"', '"b"'],
    )
  },

  'the head holds the last number, the last event and the end': async ({ chunks }) => {
    const id = newId.run()
    assert.equal(await chunks.head(id), undefined)
    await chunks.open(id, 1)
    const rendered = [
      { event: 2, body: '1' },
      { event: 0, body: '2' },
    ]
    await chunks.append([append(id, [], { chunks: rendered })])
    assert.deepEqual(await chunks.head(id), { last: 2, lastEvent: 2, ended: false, mayHaveLost: false })
    assert.deepEqual(await chunks.unended(10), [id])
    await chunks.append([append(id, ['3'], { ended: true })])
    assert.deepEqual(await chunks.head(id), { last: 3, lastEvent: 2, ended: true, mayHaveLost: false })
    assert.deepEqual(await chunks.unended(10), [])
  },

  'nothing can be appended after the end': async ({ chunks }) => {
    const id = newId.run()
    await chunks.open(id, 1)
    await chunks.append([append(id, ['1'], { ended: true })])
    assert.deepEqual(await chunks.append([append(id, ['2'])]), ['ended'])
    assert.equal((await chunks.read(id, 0, 10)).length, 1)
  },

  'a stale writer is fenced and writes nothing': async ({ chunks }) => {
    const [id, other] = [newId.run(), newId.run()]
    await chunks.open(id, 1)
    await chunks.open(other, 1)
    await chunks.append([append(id, ['1'])])
    assert.deepEqual(await chunks.open(id, 2), { last: 1, lastEvent: 0, ended: false, mayHaveLost: false })
    assert.deepEqual(await chunks.append([append(id, ['late']), append(other, ['1'])]), ['fenced', 1])
    assert.equal(await chunks.open(id, 1), 'fenced')
    assert.deepEqual(await chunks.append([append(id, ['2'], { fence: 2 })]), [2])
    assert.deepEqual(
      (await chunks.read(id, 0, 10)).map(({ body }) => body),
      ['1', '2'],
    )
  },

  'the same holder can open its stream again': async ({ chunks }) => {
    const id = newId.run()
    await chunks.open(id, 3)
    assert.notEqual(await chunks.open(id, 3), 'fenced')
  },

  'after a loss, numbering continues above the floor': async ({ chunks }) => {
    const id = newId.run()
    await chunks.open(id, 1)
    assert.deepEqual(await chunks.append([append(id, ['a'])]), [1])
    assert.deepEqual(await chunks.append([append(id, ['b'], { floor: 100 })]), [101])
    assert.deepEqual(await chunks.append([append(id, ['c'], { floor: 50 })]), [102])
    assert.deepEqual(
      (await chunks.read(id, 1, 10)).map(({ number }) => number),
      [101, 102],
    )
  },

  'a stream without chunks has lost nothing, even if its first holder died': async ({ chunks }) => {
    assert.deepEqual(await chunks.open(newId.run(), 2), { last: 0, lastEvent: 0, ended: false, mayHaveLost: false })
  },

  'the oldest ended streams are removed first, a few at a time': async ({ chunks }) => {
    const ids = [newId.run(), newId.run(), newId.run()]
    for (const id of ids) await chunks.open(id, 1)
    await chunks.append(ids.map((id, index) => append(id, ['1', '2'], { ended: true, at: AT + index })))
    assert.equal(await chunks.prune(AT + 10, 2), 2)
    const heads = await Promise.all(ids.map((id) => chunks.head(id)))
    assert.deepEqual(
      heads.map((head) => head?.last),
      [undefined, undefined, 2],
    )
    assert.deepEqual(await chunks.read(ids[0]!, 0, 10), [])
    assert.equal((await chunks.read(ids[2]!, 0, 10)).length, 2)
    assert.equal(await chunks.prune(AT + 10, 2), 1)
    assert.equal(await chunks.prune(AT + 10, 2), 0)
  },

  'streams that ended before the given time are removed, others stay': async ({ chunks }) => {
    const [old, recent, live] = [newId.run(), newId.run(), newId.run()]
    for (const id of [old, recent, live]) await chunks.open(id, 1)
    await chunks.append([
      append(old, ['1'], { ended: true, at: AT }),
      append(recent, ['1'], { ended: true, at: AT + 10 }),
      append(live, ['1']),
    ])
    assert.equal(await chunks.prune(AT + 10, 10), 1)
    assert.equal(await chunks.head(old), undefined)
    assert.deepEqual(await chunks.read(old, 0, 10), [])
    assert.equal((await chunks.head(recent))?.last, 1)
    assert.equal((await chunks.read(live, 0, 10)).length, 1)
  },
}
