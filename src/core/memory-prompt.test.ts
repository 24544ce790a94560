import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Block } from './block.ts'
import { compilePrompt, type PromptMaterials, systemMessageId } from './memory-prompt.ts'

const human: Block = {
  id: 'block-1',
  organizationId: 'org-1',
  label: 'human',
  value: 'Name: Bo.\nLikes tea.',
  limit: 100,
  readOnly: true,
  tags: [],
  metadata: {},
  isTemplate: false,
  version: 1,
  createdAt: 0,
  updatedAt: 0,
  description: 'who they are',
}

const materials = (more: Partial<PromptMaterials> = {}): PromptMaterials => ({
  agent: { id: 'agent-1', system: 'Be kind.', model: 'test/model', settings: { agentType: 'letta_v1_agent' } },
  conversation: { id: 'conv-1', isDefault: true, nextPosition: 3 },
  blocks: [human],
  passageCount: 0,
  passageTags: [],
  at: 0,
  ...more,
})

test('a prompt contains the memory blocks, the ids and the compile time', () => {
  assert.equal(
    compilePrompt(materials({ passageCount: 2, passageTags: ['a', 'b'] })),
    `Be kind.

<memory_blocks>
The following memory blocks are in view:

<human>
<description>
who they are
</description>
<metadata>
- read_only=true
- chars_current=20
- chars_limit=100
</metadata>
<value>
Name: Bo.
Likes tea.
</value>
</human>

</memory_blocks>

<memory_metadata>
- AGENT_ID: agent-1
- CONVERSATION_ID: default
- System prompt last recompiled: 1970-01-01T00:00:00.000Z
- 3 previous messages between you and the user are stored in recall memory (use tools to access them)
- 2 total memories you created are stored in archival memory (use tools to access them)
- Available archival memory tags: a, b
</memory_metadata>`,
  )
})

test('memory replaces its placeholder, and replacement patterns in it are taken literally', () => {
  const agent = { ...materials().agent, system: 'Before. {CORE_MEMORY} After.' }
  const text = compilePrompt(materials({ agent, blocks: [{ ...human, value: '$& $1' }] }))
  assert.match(text, /^Before\. <memory_blocks>[\s\S]*\$& \$1[\s\S]*<\/memory_metadata> After\.$/)
})

test('lines are numbered for Anthropic models, and agent types without memory have no blocks', () => {
  const claude = { ...materials().agent, model: 'anthropic/claude' as const }
  assert.match(compilePrompt(materials({ agent: claude })), /<warning>[\s\S]*1→ Name: Bo\.\n2→ Likes tea\./)
  const worker = { ...materials().agent, settings: { agentType: 'workflow_agent' } }
  assert.doesNotMatch(compilePrompt(materials({ agent: worker })), /memory_blocks/)
})

test('an agent without memory has its instructions alone as prompt, and a conversation is named by its id', () => {
  const { settings: _, ...plain } = materials().agent
  assert.equal(compilePrompt(materials({ agent: plain, blocks: [] })), 'Be kind.')
  const conversation = { id: 'conv-7', isDefault: false, nextPosition: 0 } as const
  assert.match(compilePrompt(materials({ conversation })), /CONVERSATION_ID: conv-7/)
  assert.equal(systemMessageId('conv-7'), 'message-7')
})
