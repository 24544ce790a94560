import assert from 'node:assert/strict'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Containment, Workspace } from '../../src/ports/workspaces.ts'
import { missingProgram } from '../harness/programs.ts'
import { ENVIRONMENT_PROBES } from './escapes/environment.ts'
import { FILE_PROBES } from './escapes/files.ts'
import { KERNEL_PROBES } from './escapes/kernel.ts'
import { NETWORK_PROBES } from './escapes/network.ts'
import { isOpen, plantOutside } from './escapes/outside.ts'
import type { Area, Outside, Probe } from './escapes/probe.ts'
import { PROCESS_PROBES } from './escapes/processes.ts'
import { runCommand } from './fixture-workspaces.ts'

const skip = missingProgram('bwrap') || missingProgram('perl')

const PROBES: Record<Area, readonly Probe[]> = {
  files: FILE_PROBES,
  environment: ENVIRONMENT_PROBES,
  network: NETWORK_PROBES,
  processes: PROCESS_PROBES,
  kernel: KERNEL_PROBES,
}

const AT_ONCE = 4

type ProbeResult = { probe: Probe; output: string }

test('no probe escapes from a sandbox', { skip }, async (context) => {
  const { workspace, outside } = await settle(context, 'bubblewrap')
  for (const [area, probes] of Object.entries(PROBES))
    await context.test(area, async () => {
      const through = await tryAll(workspace, probes, outside)
      assert.deepEqual(through.map(describeResult), [])
    })
  assert.equal(existsSync(join(outside.home, 'written')), false)
  process.kill(outside.bystander, 0)
})

test('without a sandbox the same probes succeed', { skip }, async (context) => {
  const { workspace, outside } = await settle(context, 'local')
  const able = Object.values(PROBES).flat().filter(isOpen)
  const through = new Set((await tryAll(workspace, able, outside)).map(({ probe }) => probe))
  assert.deepEqual(
    able.filter((probe) => !through.has(probe)).map(({ area, tries }) => `${area}: ${tries}`),
    [],
  )
  assert.ok(able.length > 20, `${able.length}`)
})

/** A workspace in the server's home, and another one beside it with a secret. */
async function settle(context: TestContext, containment: Containment) {
  const { planted, fixture } = await plantOutside(context, containment)
  const { folder } = fixture
  const [workspace, beside] = [await fixture.open(), await fixture.open()]
  const file = join(folder, beside.conversationId, 'files', 'precious')
  writeFileSync(file, planted.canary)
  const isHeld = containment === 'bubblewrap'
  const outside: Outside = {
    ...planted,
    neighbor: { file, socket: join(folder, beside.conversationId, 'supervisor.sock') },
    ownSocket: join(folder, workspace.conversationId, 'supervisor.sock'),
    node: isHeld ? '/holdfast/node' : process.execPath,
    watcher: isHeld ? '$PPID' : String(planted.bystander),
  }
  return { workspace, outside }
}

/** The probes that succeeded. */
async function tryAll(workspace: Workspace, probes: readonly Probe[], outside: Outside): Promise<ProbeResult[]> {
  const through: ProbeResult[] = []
  const left = [...probes]
  async function tryOn(): Promise<void> {
    for (let probe = left.shift(); probe; probe = left.shift()) {
      // An error message is not a success.
      const command = `exec 2> /dev/null; ${probe.command(outside)}`
      const { text, ending } = await runCommand(workspace, command, { background: true })
      assert.equal(ending?.type, 'exited', `${probe.tries}: ${JSON.stringify(ending)} ${text.slice(-500)}`)
      if (probe.success.test(text)) through.push({ probe, output: text })
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, tryOn))
  return through
}

const describeResult = ({ probe, output }: ProbeResult): string => `${probe.tries}: ${output.trim().slice(0, 500)}`
