import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { missingProgram } from '../harness/programs.ts'
import { serveTools } from './fixture-tools.ts'

const FILE = new URL('./agent-files/published-tools.af', import.meta.url)

type FileTool = { name: string; tool_type: string; source_code: string | null }
type FileAgent = { name: string; tool_ids: string[] }

/** What the tools of the files answer; those of Holdfast have tests of their own. */
const CALLS: Record<string, { input: object; says: RegExp }> = {
  cancel_order: { input: { order_number: 7, reason: 'late' }, says: /^The order 7 could not be cancelled\.$/ },
  check_order_status: { input: { order_number: 7 }, says: /^Order 7 is currently processing\.$/ },
  escalate: { input: { reason: 'anger' }, says: /human operator/ },
  terminate_chat: { input: { reason: 'anger' }, says: /^ERROR$/ },
  create_research_plan: { input: { research_plan: ['one', 'two'], topic: 'tea' }, says: /successfully created/ },
  reset_research: { input: {}, says: /successfully reset/ },
  note: { input: { command: 'view', path: '/a' }, says: /needs a secret LETTA_API_KEY of the agent/ },
}

test('every tool of published agent files is attached, and its source runs or says what is missing and comes back in an export', {
  skip: missingProgram('bwrap'),
}, async (context) => {
  const { client, ask } = await serveTools(context)
  const document = JSON.parse(readFileSync(FILE, 'utf8')) as {
    agents: FileAgent[]
    tools: (FileTool & { id: string })[]
  }
  const file = new File([readFileSync(FILE)], 'published.af')
  const { agent_ids } = await client.agents.importFile({ file, model: 'puppet/any' })
  for (const [index, id] of agent_ids.entries()) {
    const { name, tool_ids } = document.agents[index]!
    const wanted = tool_ids.map((toolId) => document.tools.find((tool) => tool.id === toolId)!)
    const agent = await client.agents.retrieve(id, { include: ['agent.tools', 'agent.blocks'] as never })
    assert.deepEqual(agent.tools.map((tool) => tool.name).sort(), wanted.map((tool) => tool.name).sort(), name)
    const { body: exported } = await ask('GET', `/v1/agents/${id}/export`)
    for (const { name: tool, tool_type, source_code } of wanted) {
      if (tool_type !== 'custom') continue
      const { input, says } = CALLS[tool]!
      const { body } = await ask('POST', `/v1/agents/${id}/tools/${tool}/run`, { body: { args: input } })
      assert.match((body as { func_return: string }).func_return, says, JSON.stringify(body))
      const returned = (exported as { tools: FileTool[] }).tools.find((one) => one.name === tool)
      assert.equal(returned?.source_code, source_code)
    }
    if (name !== 'deep_research_agent') continue
    const plan = (await client.agents.blocks.retrieve('research_plan', { agent_id: id })).value
    assert.match(plan, /Empty - awaiting/)
  }
})
