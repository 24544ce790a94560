import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findDestruction } from '../../src/tools/workspace/destructive-commands.ts'
import { missingProgram } from '../harness/programs.ts'
import { type CorpusCommand, commandCorpus, nestedCommands } from './guard/command-corpus.ts'
import { whatCommandsDestroy } from './guard/what-commands-destroy.ts'

const skip = missingProgram('bwrap')

/** The command lines that destroyed the folder in a sandbox and that the guard would have let run. */
async function unasked(corpus: readonly CorpusCommand[]): Promise<{ destroyed: number; missed: CorpusCommand[] }> {
  const destroyed = await whatCommandsDestroy(corpus.map(({ text }) => text))
  const missed = [...destroyed].map((index) => corpus[index]!).filter(({ text }) => findDestruction(text) === undefined)
  return { destroyed: destroyed.size, missed }
}

test('each command of the matrix that really destroys asks first', { skip }, async () => {
  const { destroyed, missed } = await unasked(commandCorpus())
  assert.ok(destroyed > 1_000, `${destroyed} destroyed something`)
  assert.deepEqual(missed, [])
})

test('commands nested by chance that really destroy ask first', { skip }, async () => {
  let state = 20_261
  const pick = (below: number) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor(state / 65_536) % below
  }
  const { destroyed, missed } = await unasked(nestedCommands(400, pick))
  assert.ok(destroyed > 200, `${destroyed} destroyed something`)
  assert.deepEqual(missed, [])
})
