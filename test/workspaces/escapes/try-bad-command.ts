import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { openTurns, processIn } from '../fixture-turns.ts'
import type { BadCommand } from './bad-commands.ts'
import { watchOthers } from './watch-others.ts'

/** Longer than any limit takes to be enforced. */
const LONGEST_MS = 30_000

/** Runs the command in a turn. The answer is clear, and nothing else is disturbed. */
export async function tryBadCommand(context: TestContext, { command, says, seconds }: BadCommand): Promise<void> {
  const turns = await openTurns(context)
  await turns.shell('true')
  const workspace = await turns.workspace()
  const others = await watchOthers(turns.workspaces, workspace)
  const began = performance.now()
  const answer = await turns.shell(command, seconds === undefined ? {} : { timeout_seconds: seconds })
  const tookMs = performance.now() - began
  assert.match(answer.output.slice(-2_000), says)
  assert.ok(tookMs < LONGEST_MS, `${tookMs} ms`)
  if (seconds !== undefined) {
    const input = { action: 'kill', process_id: processIn(answer) }
    assert.match((await turns.call({ tool: 'process', input })).output, /ended on request/)
  }
  const { serverMs, elsewhereMs } = await others.areWell()
  context.diagnostic(`over after ${Math.round(tookMs)} ms; server ${serverMs} ms, elsewhere ${elsewhereMs} ms`)
  assert.match((await turns.shell('echo fine')).output, /^fine\n/)
}
