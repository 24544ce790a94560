import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Body, serveDialects } from './fixture-dialects.ts'

test('an agent that is exported and imported has every setting it had, and so has its next export', async (context) => {
  const { client, fetch } = await serveDialects(context)
  const settings = {
    model: 'chat/gpt-4o',
    fallback: ['responses/gpt-5.1'],
    model_settings: {
      temperature: 0.5,
      reasoning: { reasoning_effort: 'low' },
      response_format: { type: 'json_object' },
      strict: true,
    },
    context_window_limit: 50_000,
    compaction_settings: { mode: 'all', threshold: 0.5, clip_chars: 900, model: 'claude/claude-sonnet-4-5' },
    tool_rules: [
      { type: 'run_first', tool_name: 'conversation_search', args: { query: 'x' } },
      { type: 'requires_approval', tool_name: 'conversation_search' },
    ],
    timezone: 'Europe/Oslo',
    description: 'Tests.',
    tags: ['one'],
    metadata: { team: 'blue' },
    when_busy: 'steer',
    session_expiry: { idle_minutes: 30 },
    command_approval: 'ask',
    agent_type: 'react_agent',
  }
  const agent = await client.agents.create(settings as never)
  const exportOf = async (id: string) => (await fetch('GET', `/v1/agents/${id}/export`)).body as { agents: Body[] }
  const file = await exportOf(agent.id)
  const content = new File([JSON.stringify(file)], 'agent.af')
  const { agent_ids } = await client.agents.importFile({ file: content, append_copy_suffix: false })
  const [before, after] = (await Promise.all(
    [agent.id, agent_ids[0]!].map((id) => client.agents.retrieve(id, { include: ['agent.tags'] })),
  )) as unknown as [Body, Body]
  // The client shows the limit of the window in `llm_config`.
  const { context_window_limit: limit, ...shown } = settings
  assert.equal((after.llm_config as Body).context_window, limit)
  for (const name of Object.keys(shown)) {
    assert.ok(before[name], name)
    assert.deepEqual(after[name], before[name], name)
  }
  const [again, first] = [await exportOf(agent_ids[0]!), file].map(({ agents }) => {
    // The first message is the system prompt, which names the id of the agent.
    const { messages: _, ...others } = agents[0]!
    return others
  })
  assert.deepEqual(again, first)
})
