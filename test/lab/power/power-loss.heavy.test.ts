import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { openApp } from '../../../src/app.ts'
import { checkStore } from '../../../src/service/store/check-store.ts'
import { startLife } from '../kill/life.ts'
import { killScript } from '../kill/script.ts'
import { killTools } from '../kill/tools.ts'
import { checkDense, checkPrefix, type LogRows, readLog } from './log-prefix.ts'
import { readWal, type Wal, withCutHome } from './wal.ts'

const TURNS = 8
const folder = mkdtempSync(join(tmpdir(), 'holdfast-power-'))
const home = join(folder, 'home')
let wal: Wal

/** Kills a process under load in strict mode: its files are what a disk would hold after a power loss. */
before(async () => {
  const effects = join(folder, 'effects.jsonl')
  const life = startLife({ home, effects, seed: 1, conversations: 3, durability: 'strict', onReport: () => {} })
  for (let turn = 0; turn < TURNS; turn++) {
    const heard = await life.hears('watched', { from: turn === 0 ? 0 : life.now() })
    assert.ok(heard, `the process ended by itself: ${life.errors()}`)
  }
  await life.kill()
  wal = readWal(join(home, 'holdfast.db-wal'))
})
after(() => rmSync(folder, { recursive: true, force: true }))

test('a log cut at any frame opens as a prefix with unchanged rows and no violated invariant', async () => {
  let earlier: LogRows = new Map()
  let commits = 0
  for (let frame = 0; frame <= wal.frames; frame++) {
    const where = `cut after frame ${frame} of ${wal.frames}`
    const isCommit = frame > 0 && wal.isCommit(frame)
    earlier = await cutAt(wal.endOf(frame), async (cut) => {
      const now = readLog(cut)
      assert.deepEqual(checkPrefix(earlier, now), [], where)
      assert.deepEqual(checkDense(now), [], where)
      if (!isCommit) assert.equal(now.size, earlier.size, `${where} shows half a commit`)
      else if (now.size > 0) assert.deepEqual(await violationsIn(cut), [], where)
      return now
    })
    if (isCommit) commits++
  }
  assert.ok(commits > TURNS, 'there were commits to cut between')
  assert.ok(earlier.size > TURNS, 'the whole log has the events')
})

test('a log cut inside a frame is the log before that frame', async () => {
  const offsets = [1, 12, 24, 25, Math.floor(wal.frameSize / 2), wal.frameSize - 1]
  const frames = sample(wal.frames, 8)
  for (const frame of frames) {
    const whole = await cutAt(wal.endOf(frame), async (cut) => readLog(cut))
    for (const offset of offsets)
      await cutAt(wal.endOf(frame) + offset, async (cut) => {
        assert.deepEqual(readLog(cut), whole, `${offset} bytes into frame ${frame + 1}`)
      })
  }
})

test('a frame that was written only in part is ignored', async () => {
  for (const frame of sample(wal.frames - 1, 8)) {
    const whole = await cutAt(wal.endOf(frame), async (cut) => readLog(cut))
    const torn = Buffer.from(wal.bytes.subarray(0, wal.endOf(frame + 1)))
    torn.fill(0, wal.endOf(frame) + Math.floor(wal.frameSize / 2))
    await withCutHome({ home, wal: torn }, async (cut) => {
      assert.deepEqual(readLog(cut), whole, `frame ${frame + 1} torn in the middle`)
    })
  }
})

test('wherever the log was cut, a new process ends every run', async () => {
  const cuts = [0, ...sample(wal.frames, 4), wal.frames]
  for (const frame of cuts)
    await cutAt(wal.endOf(frame), async (cut) => {
      const app = await openApp({
        environment: environmentOf(cut),
        role: 'owner',
        tools: killTools(() => {}),
        providers: { lab: killScript },
      })
      try {
        const { store } = app.context.deps
        // Runs queued behind an approval wait for an answer; every other run ends by itself.
        const isQuiet = async () =>
          (await store.runs.list(app.context.organizationId, { statuses: ['running'] }, { limit: 1 })).length === 0
        while (!(await isQuiet())) await sleep(10)
        assert.deepEqual((await checkStore(app.context)).violations, [], `cut after frame ${frame}`)
      } finally {
        await app.close()
      }
    })
})

const cutAt = <T>(length: number, work: (cut: string) => Promise<T>): Promise<T> =>
  withCutHome({ home, wal: wal.bytes.subarray(0, length) }, work)

/** Relaxed durability: the cut is the test, and waiting for fsync again would only take time. */
const environmentOf = (cut: string) => ({ HOLDFAST_HOME: cut, HOLDFAST_DURABILITY: 'relaxed' })

async function violationsIn(cut: string): Promise<unknown[]> {
  const app = await openApp({ environment: environmentOf(cut), role: 'guest' })
  try {
    return (await checkStore(app.context)).violations
  } finally {
    await app.close()
  }
}

/** `count` frames spread over all of them. */
const sample = (frames: number, count: number): number[] =>
  Array.from({ length: count }, (_, index) => 1 + Math.floor(((index + 0.5) * (frames - 2)) / count))
