import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { openApp } from '../../src/app.ts'
import { realClock } from '../../src/config/real-clock.ts'
import { newScriptedProvider, scriptOf } from '../../src/providers/scripted/script.ts'
import { createAgent } from '../../src/service/agents/create-agent.ts'
import { sendMessage } from '../../src/service/messages/send-message.ts'
import { waitForRun } from '../../src/service/runs/watch-run.ts'
import { holdfast } from '../cli/holdfast.ts'
import { KEY } from '../http/fixture-server-process.ts'
import { newAgent, newPlace, refused, serve, succeed } from './fixture-backup.ts'

/** An agent whose notes are so long that reading them spills the output into a file. */
async function spillNotes(home: string): Promise<void> {
  const texts = Array.from({ length: 15 }, (_, index) => `${index} ${'tea '.repeat(950)}`)
  const script = scriptOf(
    { calls: texts.map((text) => ({ tool: 'write_note', input: { text } })) },
    { calls: [{ tool: 'read_notes', input: {} }] },
    { text: 'That is a lot of tea.' },
  )
  const test = newScriptedProvider({ clock: realClock, scriptFor: () => script })
  const app = await openApp({ environment: { HOLDFAST_HOME: home }, role: 'owner', providers: { test } })
  try {
    const agent = await createAgent(
      { name: 'tea', model: 'test/model', tools: ['write_note', 'read_notes'] },
      app.context,
    )
    const conversation = await app.context.deps.store.conversations.defaultOf(agent.organizationId, agent.id)
    const content = [{ type: 'text' as const, text: 'Read your notes.' }]
    const { runId } = await sendMessage({ agent, conversationId: conversation!.id, content }, app.context)
    await waitForRun(runId, app.context)
  } finally {
    await app.close()
  }
}

test('a backup under load restores to a home that answers as before', async (t) => {
  const { home, file, restored } = newPlace(t)
  await spillNotes(home)
  assert.equal(readdirSync(join(home, 'spill')).length, 1)
  const server = await serve(t, home)
  const agents = await Promise.all(['ada', 'bob', 'eve'].map((name) => newAgent(server, name)))
  const acknowledged: { agent: string; text: string }[] = []
  let isOver = false
  const { promise: busy, resolve: isBusy } = Promise.withResolvers<void>()
  const traffic = agents.map(async (agent, index) => {
    for (let round = 0; !isOver; round++) {
      const text = `remember that number ${index}-${round} counts`
      await server.say(agent, text)
      acknowledged.push({ agent, text })
      if (acknowledged.length >= 9) isBusy()
    }
  })
  await busy
  const before = [...acknowledged]
  const printed = await succeed(home, 'backup', file)
  isOver = true
  await Promise.all(traffic)
  assert.match(printed, /checked by doctor/)
  assert.equal(statSync(file).mode & 0o777, 0o600)
  server.child.kill('SIGKILL')
  await server.ended

  assert.match(await succeed(restored, 'restore', file), /restored has the backup of/)
  const doctor = JSON.parse(await succeed(restored, 'doctor', '--json'))
  assert.deepEqual(doctor.violations, [])
  assert.equal(doctor.lastBackup.file, file)
  const again = await serve(t, restored)
  for (const agent of agents) {
    const notes = await again.say(agent, 'what do you remember')
    const texts = (await again.ask<{ content?: string }[]>('GET', `/v1/agents/${agent}/messages?limit=1000`)).map(
      ({ content }) => content,
    )
    for (const { text } of before.filter((one) => one.agent === agent)) {
      assert.ok(texts.includes(text), `${text} is not in the conversation`)
      assert.ok(notes.includes(text.replace('remember that ', '')), `${text} is not in ${notes}`)
    }
    assert.match(await again.say(agent, 'what time is it?'), /\d/)
  }
  const spilled = readdirSync(join(home, 'spill'), { recursive: true, encoding: 'utf8' })
  for (const name of spilled.filter((one) => statSync(join(home, 'spill', one)).isFile()))
    assert.equal(readFileSync(join(restored, 'spill', name), 'utf8'), readFileSync(join(home, 'spill', name), 'utf8'))
})

test('the start screen, doctor and the metrics show the last backup', async (t) => {
  const { home, file } = newPlace(t)
  await succeed(home, 'agents', 'create', 'ada')
  assert.match(await succeed(home, 'doctor'), /No backup of this home was made yet/)
  await succeed(home, 'backup', file)
  assert.match(await succeed(home, 'doctor'), new RegExp(`Last backup \\d+ s ago: ${file}`))
  const server = await serve(t, home)
  await server.waitForText('Backup  Last backup')
  const { url } = JSON.parse(readFileSync(join(home, 'server.json'), 'utf8'))
  const metrics = await (await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${KEY}` } })).text()
  const at = Number(/^holdfast_last_backup_timestamp_seconds (.+)$/m.exec(metrics)?.[1])
  assert.ok(Math.abs(at - Date.now() / 1_000) < 600)
  assert.match(metrics, new RegExp(`^holdfast_last_backup_bytes ${statSync(file).size}$`, 'm'))
})

test('a restored home names the credentials that its missing key cannot decrypt, and has them with the key', async (t) => {
  const { home, file, restored, folder } = newPlace(t)
  await succeed(home, 'agents', 'create', 'ada')
  const added = await holdfast(['auth', 'add', 'openai', '--label', 'work', '--key-stdin'], {
    home,
    input: 'sk-a-key-for-this-test\n',
  })
  assert.equal(added.code, 0, added.stderr)
  assert.match(await succeed(home, 'backup', file), /secret\.key is not in it/)
  const without = await holdfast(['restore', file], { home: restored })
  assert.equal(without.code, 0, without.stderr)
  assert.match(without.stderr, /Without its secret\.key, these secrets cannot be used: openai \(work\)/)
  assert.ok(!readdirSync(restored).includes('secret.key'))

  const whole = join(folder, 'whole.tar.gz')
  const withKey = await holdfast(['backup', whole, '--with-secret-key'], { home })
  assert.match(withKey.stderr, /WARNING: the file holds secret\.key/)
  const second = await holdfast(['restore', whole], { home: join(folder, 'second') })
  assert.equal(second.code, 0, second.stderr)
  assert.equal(second.stderr, '')
  assert.deepEqual(readFileSync(join(folder, 'second', 'secret.key')), readFileSync(join(home, 'secret.key')))
})

test('a backup refuses a file that exists, a file in the home, and a home without a database', async (t) => {
  const { home, file, folder } = newPlace(t)
  assert.match(await refused(home, 'backup', file), /nothing to back up/)
  assert.deepEqual(readdirSync(home), [])
  await succeed(home, 'agents', 'create', 'ada')
  await succeed(home, 'backup', file)
  assert.match(await refused(home, 'backup', file), /exists already.*--force/)
  await succeed(home, 'backup', file, '--force')
  assert.match(await refused(home, 'backup', join(home, 'b.tar.gz')), /is inside .*home/)
  assert.match(await refused(home, 'backup', join(folder, 'none', 'b.tar.gz')), /none does not exist/)
  assert.match(await refused(home, 'restore', file), /is not empty/)
  assert.match(await refused(join(folder, 'new'), 'restore', join(folder, 'none')), /There is no file/)
  assert.deepEqual(readdirSync(folder).sort(), ['backup.tar.gz', 'home'])
})
