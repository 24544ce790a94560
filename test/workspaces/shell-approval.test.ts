import assert from 'node:assert/strict'
import { test } from 'node:test'
import { realClock } from '../../src/config/real-clock.ts'
import { sha256 } from '../../src/config/sha256.ts'
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

type ApprovalCase = { tool?: string; input: Json; approvals?: Record<string, boolean>; containment?: Containment }

const HARMLESS = { command: 'ls -la' }
const DESTRUCTIVE = { command: 'git push --force' }

/** Who is asked about a call, as the engine records it with the answer. */
const RULES: { what: string; asked: ApprovalCase; asks: boolean }[] = [
  { what: 'a harmless command', asked: { input: HARMLESS }, asks: false },
  { what: 'a command that destroys', asked: { input: DESTRUCTIVE }, asks: true },
  { what: 'a command that cannot be read', asked: { input: { command: "echo 'open" } }, asks: true },
  {
    what: 'a harmless command of an agent whose shell always asks',
    asked: { input: HARMLESS, approvals: { shell: true } },
    asks: true,
  },
  {
    what: 'a harmless command of an agent whose shell asks nobody',
    asked: { input: HARMLESS, approvals: { shell: false } },
    asks: false,
  },
  {
    what: 'a command that destroys, of an agent whose shell asks nobody',
    asked: { input: DESTRUCTIVE, approvals: { shell: false } },
    asks: true,
  },
  { what: 'any command without a sandbox', asked: { input: HARMLESS, containment: 'local' }, asks: true },
  {
    what: 'any command without a sandbox, of an agent whose shell asks nobody',
    asked: { input: HARMLESS, containment: 'local', approvals: { shell: false } },
    asks: true,
  },
  { what: 'looking at processes', asked: { tool: 'process', input: { action: 'list' } }, asks: false },
  { what: 'typing', asked: { tool: 'process', input: { action: 'write', input: "it's\n" } }, asks: false },
  {
    what: 'typing a command that destroys',
    asked: { tool: 'process', input: { action: 'write', input: 'rm -rf /\n' } },
    asks: true,
  },
  {
    what: 'typing without a sandbox',
    asked: { tool: 'process', input: { action: 'write', input: 'ls\n' }, containment: 'local' },
    asks: true,
  },
]

for (const { what, asked, asks } of RULES)
  test(`${what} ${asks ? 'waits for a person' : 'needs nobody'}`, async (context) => {
    const { tool = 'shell', input, approvals = {}, containment = 'bubblewrap' } = asked
    const { workspaces } = openWorkspacesFixture(context)
    const all = toolRegistry(workspaceTools({ workspaces, containment, clock: realClock }))
    const agent = { tools: [tool], settings: { approvals } }
    const tools = await agentTools(agent, { tools: all, stored: async () => [], mcp: stubEngineDeps().mcp })
    const raw = [{ callId: 'a', tool, json: JSON.stringify(input) }]
    const parts = { tools, allowed: [tool], digest: sha256, newCallId: () => 'b' }
    const calls = [1, 2, 3].map(() => resolveCalls(raw, parts)[0])
    assert.deepEqual(
      calls.map((call) => [call?.needsApproval, call?.refusal]),
      calls.map(() => [asks, undefined]),
    )
  })

test('whoever is asked is told why', async (context) => {
  const { workspaces } = openWorkspacesFixture(context)
  const why = (containment: Containment, command: string) => {
    const tools = toolRegistry(workspaceTools({ workspaces, containment, clock: realClock }))
    const raw = [{ callId: 'a', tool: 'shell', json: JSON.stringify({ command }) }]
    return resolveCalls(raw, { tools, allowed: ['shell'], digest: sha256, newCallId: () => 'b' })[0]?.askedBecause
  }
  assert.equal(why('bubblewrap', 'ls'), undefined)
  assert.match(why('bubblewrap', 'git push --force') ?? '', /throws away work or history/)
  assert.match(why('local', 'ls') ?? '', /outside of any sandbox/)
  assert.match(why('local', 'rm -rf work') ?? '', /deletes whole folders/)
})

test('a command that destroys runs once it was approved, and not before', {
  skip: missingProgram('bwrap'),
}, async (context) => {
  const { begin, house, shell, workspace } = await openTurns(context)
  await shell('mkdir precious; echo 1 > precious/file')
  const runId = await begin({ tool: 'shell', input: { command: 'rm -rf precious' }, callId: 'a' })
  assert.equal((await house.wait(runId)).stopReason, 'requires_approval')
  assert.equal((await (await workspace()).files.read('precious/file')).type, 'done')
  const next = await answerApproval({ runId, verdicts: [{ callId: 'a', verdict: 'approve' }] }, house.context)
  await house.wait(next)
  assert.equal(outcomesIn(await house.events(next))[0]?.status, 'success')
  assert.equal((await (await workspace()).files.read('precious/file')).type, 'fault')
})
