import assert from 'node:assert/strict'
import { test } from 'node:test'
import { missingProgram } from '../harness/programs.ts'
import { serveTools } from './fixture-tools.ts'

const skip = missingProgram('bwrap')

test('what a Python tool finds around it', { skip }, async (context) => {
  const { client, agentId, bring, run } = await serveTools(context, {
    secrets: { TOKEN: 'mine', HIDDEN: 'canary-7', LETTA_AGENT_ID: 'not this', PATH: '/usr/bin:/bin' },
  })
  const other = await client.agents.create({
    model: 'puppet/any',
    tool_exec_environment_variables: { OTHER: 'of another agent' },
  })

  await context.test('the ids of agent and tool, and the secrets of its agent alone', async () => {
    const id = await bring({
      source_code:
        'def around(agent_id: str):\n    """Looks."""\n    import os\n    hidden = os.environ.pop("HIDDEN")\n    return [agent_id, dict(os.environ), hidden == "canary-" + "7"]\n',
    })
    const [given, environment, isHidden] = JSON.parse((await run('around')).output)
    assert.equal(given, agentId)
    assert.equal(isHidden, true)
    const { LETTA_AGENT_ID, LETTA_TOOL_ID, TOKEN, PYTHONUNBUFFERED, NO_COLOR, TERM, HOME } = environment
    assert.deepEqual(
      { LETTA_AGENT_ID, LETTA_TOOL_ID, TOKEN, PYTHONUNBUFFERED, NO_COLOR, TERM, HOME },
      {
        LETTA_AGENT_ID: agentId,
        LETTA_TOOL_ID: id,
        TOKEN: 'mine',
        PYTHONUNBUFFERED: '1',
        NO_COLOR: '1',
        TERM: 'dumb',
        HOME: '/workspace',
      },
    )
    assert.equal(JSON.stringify(environment).includes('of another agent'), false)
    assert.deepEqual(
      Object.keys(environment).filter((name) => /HOLDFAST_(API|HOME|RESULT)|OPENAI/.test(name)),
      [],
    )
    await client.agents.delete(other.id)
  })

  await context.test('secrets are in no file of the workspace and in no environment of another process', async () => {
    await bring({
      source_code: `
def hunt():
    """Hunts."""
    import subprocess
    return subprocess.run("cat /proc/$PPID/environ /proc/1/environ; grep -rs canary-[7] /spool /workspace /tmp", shell=True, env={}, capture_output=True, text=True).stdout
`,
    })
    assert.equal((await run('hunt')).output.includes('canary-7'), false)
  })

  await context.test('the memory of its agent, whose changes are stored with the result', async () => {
    const block = await client.blocks.create({ label: 'plan', value: 'none' })
    await client.agents.blocks.attach(block.id, { agent_id: agentId })
    await bring({
      source_code: `
def plan(agent_state: "AgentState", steps: List[str]):
    """Plans."""
    before = agent_state.memory.get_block("plan").value
    agent_state.memory.update_block_value(label="plan", value="\\n".join(steps))
    return before + " " + agent_state.id
`,
    })
    assert.equal((await run('plan', { steps: ['one', 'two'] })).output, `none ${agentId}`)
    assert.equal((await client.blocks.retrieve(block.id)).value, 'one\ntwo')
    const { output, status } = await run('plan', { steps: ['x'.repeat(200_000)] })
    assert.equal(status, 'error')
    assert.match(output, /The tool ran, but its change of memory was refused: .*Exceeds 100000 character limit/)
    assert.equal((await client.blocks.retrieve(block.id)).value, 'one\ntwo')
  })

  await context.test('no client without its package and key, which it says when it is used', async () => {
    await bring({
      source_code: 'def asks():\n    """Asks."""\n    return client.agents.list() if not client else "no"\n',
    })
    assert.match((await run('asks')).output, /needs a secret LETTA_API_KEY/)
  })

  await context.test('nothing that an earlier call or a command left behind', async () => {
    await bring({
      source_code: `
import json, os, sys
def leave():
    """Leaves."""
    seen = [getattr(json, "left", None), os.environ.get("LEFT"), sorted(os.listdir("/proc/self/fd"))]
    json.left = os.environ["LEFT"] = "behind"
    os.open("/etc/passwd", os.O_RDONLY)
    os.set_inheritable(os.open("/etc/passwd", os.O_RDONLY), True)
    for name in ("json", "typing", "sitecustomize", "usercustomize"):
        with open(name + ".py", "w") as file:
            file.write("raise SystemExit('shadowed')")
    return seen
`,
    })
    const first = (await run('leave')).output
    assert.match(first, /^\[null, null, \["0", "1", "2", "3"\]\]$/)
    assert.equal((await run('leave')).output, first)
  })
})

test('sources that cannot run say why', { skip }, async (context) => {
  const { client, bring, run } = await serveTools(context, { environment: { HOLDFAST_TOOL_SECONDS: '1' } })
  const cases = {
    'does not parse': ['def broken():\n    """B."""\n    return (\n', /broken: SyntaxError: .*never closed/],
    'fails when it is loaded': [
      'import nowhere\ndef broken():\n    """B."""\n',
      /broken: ModuleNotFoundError: No module named 'nowhere'/,
    ],
    'removes its function': [
      'def broken():\n    """B."""\ndel broken\n',
      /broken: NameError: the source defines no function named 'broken'/,
    ],
    'never returns': [
      'def broken():\n    """B."""\n    while True: pass\n',
      /broken: TimeoutError: the tool ran longer than 1 seconds/,
    ],
    'prints without end': ['def broken():\n    """B."""\n    while True: print("y" * 1000)\n', /TimeoutError/],
    'forks without end': [
      'def broken():\n    """B."""\n    import os\n    while True: os.fork()\n',
      /over the processes limit|BlockingIOError|TimeoutError/,
    ],
    'takes all memory': [
      'def broken():\n    """B."""\n    all = []\n    while True: all.append(b"x" * 10_000_000)\n',
      /over the memory limit|MemoryError|TimeoutError/,
    ],
  } as const
  for (const [does, [source_code, says]] of Object.entries(cases))
    await context.test(`a tool that ${does}`, async () => {
      await bring({ source_code })
      const { status, output } = await run('broken')
      assert.match(output, says)
      assert.equal(status, 'error')
    })
  await context.test('a name of a built-in tool is refused', async () => {
    const refused = await client.tools.upsert({ source_code: 'def shell():\n    """S."""\n' }).catch((fault) => fault)
    assert.equal(refused.status, 409)
    assert.match(String(refused.message), /built-in tool/)
  })
  await context.test('a source without a function is refused', async () => {
    const refused = await client.tools.upsert({ source_code: 'x = 1\n' }).catch((fault) => fault)
    assert.equal(refused.status, 400)
    assert.match(String(refused.message), /no top-level function/)
  })
})

test('a call runs the source that it was recorded with, or none', { skip }, async (context) => {
  const { client, agentId, bring, ask } = await serveTools(context)
  const source = (text: string) => `def pay():\n    """Pays."""\n    return "${text}"\n`
  const id = await bring({ source_code: source('one'), default_requires_approval: true })
  await client.agents.tools.updateApproval('pay', { agent_id: agentId, body_requires_approval: true })
  const { messages } = await client.agents.messages.create(agentId, {
    input: JSON.stringify({ tool: 'pay', input: {} }),
  })
  const request = messages.find((one) => one.message_type === 'approval_request_message')
  assert.ok(request)
  await client.tools.update(id, { source_code: source('two') })
  const callId = (request as { tool_call: { tool_call_id: string } }).tool_call.tool_call_id
  const approved = await client.agents.messages.create(agentId, {
    messages: [{ type: 'approval', approvals: [{ type: 'approval', approve: true, tool_call_id: callId }] }],
  })
  assert.match(JSON.stringify(approved.messages), /The source of pay was changed after this call was recorded/)
  const { body } = await ask('POST', `/v1/agents/${agentId}/tools/pay/run`, { body: { args: {} } })
  assert.equal((body as { func_return: string }).func_return, 'two')
})
