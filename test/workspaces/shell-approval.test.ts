import assert from 'node:assert/strict'
import { test } from 'node:test'
import { realClock } from '../../src/config/real-clock.ts'
import { sha256 } from '../../src/config/sha256.ts'
import type { CommandApproval } from '../../src/core/command-approval.ts'
import { defined } from '../../src/core/defined.ts'
import type { Json } from '../../src/core/json.ts'
import { agentTools } from '../../src/engine/agent-tools.ts'
import { resolveCalls } from '../../src/engine/resolve-calls.ts'
import type { Containment } from '../../src/ports/workspaces.ts'
import { answerApproval } from '../../src/service/approvals/answer-approval.ts'
import { toolRegistry } from '../../src/tools/registry.ts'
import { workspaceTools } from '../../src/tools/workspace/workspace-tools.ts'
import { missingProgram } from '../harness/programs.ts'
import { stubEngineDeps } from '../harness/stubs.ts'
import { openTurns, outcomesIn } from './fixture-turns.ts'
import { openWorkspacesFixture } from './fixture-workspaces.ts'

type ApprovalCase = {
  tool?: string
  input: Json
  approvals?: Record<string, boolean>
  commandApproval?: CommandApproval
  containment?: Containment
}

const HARMLESS = { command: 'ls -la' }
const DESTRUCTIVE = { command: 'git push --force' }

/** Whether a call needs approval, as the engine records it. */
const RULES: { what: string; call: ApprovalCase; needsApproval: boolean }[] = [
  { what: 'a harmless command', call: { input: HARMLESS }, needsApproval: false },
  { what: 'a destructive command', call: { input: DESTRUCTIVE }, needsApproval: true },
  { what: 'a command that cannot be read', call: { input: { command: "echo 'open" } }, needsApproval: true },
  {
    what: 'a harmless command of an agent whose shell always needs approval',
    call: { input: HARMLESS, approvals: { shell: true } },
    needsApproval: true,
  },
  {
    what: 'a harmless command of an agent whose shell is exempt from approval',
    call: { input: HARMLESS, approvals: { shell: false } },
    needsApproval: false,
  },
  {
    what: 'a destructive command of an agent whose shell is exempt from approval',
    call: { input: DESTRUCTIVE, approvals: { shell: false } },
    needsApproval: true,
  },
  { what: 'any command without a sandbox', call: { input: HARMLESS, containment: 'local' }, needsApproval: true },
  {
    what: 'any command without a sandbox, of an agent whose shell is exempt from approval',
    call: { input: HARMLESS, containment: 'local', approvals: { shell: false } },
    needsApproval: true,
  },
  { what: 'listing processes', call: { tool: 'process', input: { action: 'list' } }, needsApproval: false },
  { what: 'typing', call: { tool: 'process', input: { action: 'write', input: 'its\n' } }, needsApproval: false },
  { what: 'closing the input', call: { tool: 'process', input: { action: 'write' } }, needsApproval: false },
  {
    what: 'typing what cannot be read',
    call: { tool: 'process', input: { action: 'write', input: "rm -rf victim\n'" } },
    needsApproval: true,
  },
  {
    what: 'a harmless command of an agent whose commands all wait',
    call: { input: HARMLESS, commandApproval: 'ask' },
    needsApproval: true,
  },
  {
    what: 'typing to a process of an agent whose commands all wait',
    call: { tool: 'process', input: { action: 'write', input: 'ls\n' }, commandApproval: 'ask' },
    needsApproval: true,
  },
  {
    what: 'listing the processes of an agent whose commands all wait',
    call: { tool: 'process', input: { action: 'list' }, commandApproval: 'ask' },
    needsApproval: false,
  },
  {
    what: 'a destructive command of an agent whose commands never wait',
    call: { input: DESTRUCTIVE, commandApproval: 'never' },
    needsApproval: false,
  },
  {
    what: 'a harmless command of an agent whose commands never wait, but whose shell always needs approval',
    call: { input: HARMLESS, commandApproval: 'never', approvals: { shell: true } },
    needsApproval: true,
  },
  {
    what: 'a harmless command without a sandbox, of an agent whose commands never wait',
    call: { input: HARMLESS, commandApproval: 'never', containment: 'local' },
    needsApproval: true,
  },
  {
    what: 'a destructive command of an agent with the default policy',
    call: { input: DESTRUCTIVE, commandApproval: 'destructive' },
    needsApproval: true,
  },
  {
    what: 'typing a destructive command',
    call: { tool: 'process', input: { action: 'write', input: 'rm -rf /\n' } },
    needsApproval: true,
  },
  {
    what: 'typing without a sandbox',
    call: { tool: 'process', input: { action: 'write', input: 'ls\n' }, containment: 'local' },
    needsApproval: true,
  },
]

for (const { what, call, needsApproval } of RULES)
  test(`${what} ${needsApproval ? 'waits for approval' : 'needs no approval'}`, async (context) => {
    const { tool = 'shell', input, approvals = {}, commandApproval, containment = 'bubblewrap' } = call
    const { workspaces } = openWorkspacesFixture(context)
    const all = toolRegistry(workspaceTools({ workspaces, containment, clock: realClock }))
    const agent = { tools: [tool], settings: { approvals, ...defined({ commandApproval }) } }
    const tools = await agentTools(agent, { tools: all, stored: async () => [], ...stubEngineDeps() })
    const raw = [{ callId: 'a', tool, json: JSON.stringify(input) }]
    const parts = { tools, allowed: [tool], digest: sha256, newCallId: () => 'b' }
    const calls = [1, 2, 3].map(() => resolveCalls(raw, parts)[0])
    assert.deepEqual(
      calls.map((call) => [call?.needsApproval, call?.refusal]),
      calls.map(() => [needsApproval, undefined]),
    )
  })

test('an approval request says why approval is needed', async (context) => {
  const { workspaces } = openWorkspacesFixture(context)
  const why = (containment: Containment, command: string) => {
    const tools = toolRegistry(workspaceTools({ workspaces, containment, clock: realClock }))
    const raw = [{ callId: 'a', tool: 'shell', json: JSON.stringify({ command }) }]
    return resolveCalls(raw, { tools, allowed: ['shell'], digest: sha256, newCallId: () => 'b' })[0]?.askedBecause
  }
  assert.equal(why('bubblewrap', 'ls'), undefined)
  assert.match(why('bubblewrap', 'git push --force') ?? '', /discards work or history/)
  assert.match(why('local', 'ls') ?? '', /without a sandbox/)
  assert.match(why('local', 'rm -rf work') ?? '', /deletes whole folders/)
})

test('a destructive command runs after its approval, and not before', {
  skip: missingProgram('bwrap'),
}, async (context) => {
  const { begin, fixture, shell, workspace } = await openTurns(context)
  await shell('mkdir precious; echo 1 > precious/file')
  const runId = await begin({ tool: 'shell', input: { command: 'rm -rf precious' }, callId: 'a' })
  assert.equal((await fixture.wait(runId)).stopReason, 'requires_approval')
  assert.equal((await (await workspace()).files.read('precious/file')).type, 'done')
  const next = await answerApproval({ runId, verdicts: [{ callId: 'a', verdict: 'approve' }] }, fixture.context)
  await fixture.wait(next)
  assert.equal(outcomesIn(await fixture.events(next))[0]?.status, 'success')
  assert.equal((await (await workspace()).files.read('precious/file')).type, 'fault')
})
