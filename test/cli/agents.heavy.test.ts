import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { holdfast, newHome, startServing } from './holdfast.ts'

for (const place of ['in its own process', 'through a server'] as const)
  test(`an agent is changed, exported, imported and deleted ${place}`, async (t) => {
    const home = newHome(t)
    const server = place === 'through a server' ? await startServing(home) : undefined
    const run = async (...args: string[]) => {
      const { code, stdout, stderr } = await holdfast([...args, '--json'], { home })
      assert.equal(code, 0, `${args.join(' ')}: ${stderr}`)
      return JSON.parse(stdout)
    }
    const refused = async (code: number, ...args: string[]) => {
      const ended = await holdfast(args, { home })
      assert.equal(ended.code, code, ended.stderr)
      return ended.stderr
    }
    const ada = await run(
      'agents',
      'create',
      'ada',
      '--temperature',
      '0.3',
      '--block',
      'human=Likes tea.',
      '--tag',
      'a',
    )
    assert.deepEqual([ada.model_settings, ada.tags], [{ temperature: 0.3 }, ['a']])
    assert.match(await refused(4, 'agents', 'create', 'ada'), /There is an agent named "ada" already/)
    const fields = ['--name', 'grace', '--effort', 'high', '--compaction-mode', 'all', '--tool', 'roll_dice']
    const changed = await run('agents', 'update', ada.id.slice(0, 25), ...fields)
    assert.equal(changed.name, 'grace')
    assert.deepEqual(changed.model_settings, { temperature: 0.3, reasoning: { reasoning_effort: 'high' } })
    assert.deepEqual([changed.compaction_settings, changed.tools], [{ mode: 'all' }, ['roll_dice']])
    assert.deepEqual((await run('agents', 'update', 'grace', '--temperature', 'none')).model_settings, {
      reasoning: { reasoning_effort: 'high' },
    })
    assert.match(await refused(2, 'agents', 'update', 'grace', '--temperature', '9'), /temperature/)

    const file = join(home, 'grace.af')
    await run('agents', 'export', 'grace', '--file', file)
    assert.equal(statSync(file).mode & 0o777, 0o600)
    const before = readFileSync(file, 'utf8')
    assert.match(await refused(4, 'agents', 'export', 'grace', '--file', file), /exists already/)
    assert.equal(readFileSync(file, 'utf8'), before)
    const [imported] = await run('agents', 'import', file)
    assert.equal(imported.agents[0].name, 'grace_copy')
    assert.match(await refused(3, 'agents', 'import', join(home, 'none.af')), /does not exist/)

    await run('agents', 'create', 'grace', '--force')
    assert.match(await refused(2, 'run', 'hello', '--agent', 'grace'), /"grace" can mean agent-.*Use an id/)
    const stays = await refused(2, 'agents', 'delete', imported.agents[0].id)
    assert.match(stays, /Confirmation needs a terminal\. This also deletes 1 conversation .*Add --yes/)
    await run('agents', 'delete', 'grace_copy', '--yes')
    await refused(3, 'agents', 'show', 'grace_copy')

    await run('memory', 'set', 'human', 'Likes coffee.', '--agent', ada.id)
    assert.equal((await run('memory', 'show', 'human', '--agent', ada.id)).value, 'Likes coffee.')
    const passage = await run('memory', 'passages', 'add', 'Tea at five.', '--agent', ada.id)
    assert.equal((await run('memory', 'passages', 'search', 'tea', '--agent', ada.id))[0].id, passage.id)
    await run('tools', 'approval', ada.id, 'roll_dice', 'on')
    assert.equal((await run('tools', 'list', '--agent', ada.id))[0].needs_approval, true)
    await run('tools', 'approval', ada.id, 'roll_dice', 'off')
    assert.equal((await run('tools', 'run', 'roll_dice', '--agent', ada.id)).status, 'success')
    const conversation = await run('conversations', 'new', '--agent', ada.id, '--title', 'Tea')
    assert.equal((await run('conversations', 'rename', conversation.id, 'Coffee')).title, 'Coffee')
    await run('run', 'roll a die', '--agent', ada.id)
    assert.equal((await run('conversations', 'list', '--agent', ada.id)).length, 2)
    const whole = await run('conversations', 'export', ada.id)
    assert.equal(whole.messages[0].role, 'user')
    await run('conversations', 'delete', conversation.id, '--yes')
    server?.child.kill('SIGTERM')
    await server?.ended
  })
