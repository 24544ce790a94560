import assert from 'node:assert/strict'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Workspace, Workspaces } from '../../../src/ports/workspaces.ts'
import { newCommand, newConversationId, runCommand, until } from '../fixture-workspaces.ts'

/** Generous for a busy machine; a server that is disturbed is late by seconds. */
const LONGEST_MS = 1_000
const LONGEST_COMMAND_MS = 10_000

export type Others = {
  /** Throws if one of them was disturbed; returns the measured delays. */
  areWell(): Promise<{ serverMs: number; elsewhereMs: number }>
}

/** Watches the server itself, commands in another workspace, and a process in the same workspace. */
export async function watchOthers(workspaces: Workspaces, workspace: Workspace): Promise<Others> {
  const delay = monitorEventLoopDelay({ resolution: 10 })
  const elsewhere = await workspaces.open(newConversationId())
  const beat = newCommand('while :; do echo beat; sleep 0.2; done', { background: true })
  const { processId } = await workspace.start(beat)
  let isOver = false
  let slowest = 0
  const working = (async () => {
    while (!isOver) {
      const began = performance.now()
      assert.equal((await runCommand(elsewhere, 'echo fine')).text, 'fine\n')
      slowest = Math.max(slowest, performance.now() - began)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  })()
  working.catch(() => {})
  delay.enable()
  return {
    async areWell() {
      delay.disable()
      isOver = true
      await working
      const serverMs = delay.max / 1e6
      assert.ok(serverMs < LONGEST_MS, `the server stood still for ${serverMs} ms`)
      assert.ok(slowest < LONGEST_COMMAND_MS, `a command elsewhere took ${slowest} ms`)
      const state = await workspace.process(processId)
      assert.equal(state?.ending, undefined, `what behaved in the same workspace ended: ${JSON.stringify(state)}`)
      const before = state!.outputBytes
      await until(async () => (await workspace.process(processId))!.outputBytes > before)
      await workspace.kill(processId, 'asked')
      await workspaces.remove(elsewhere.conversationId)
      return { serverMs: Math.round(serverMs), elsewhereMs: Math.round(slowest) }
    },
  }
}
