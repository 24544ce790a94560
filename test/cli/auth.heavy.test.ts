import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { defined } from '../../src/core/defined.ts'
import { addKey, providersFixture } from './fixture-providers.ts'
import { holdfast, lacksTerminal, newHome, startAtTerminal, startHoldfast } from './holdfast.ts'

const SECRET = 'sk-very-secret-0123456789-3f2a'

type Member = {
  id: string
  provider: string
  label: string
  hint: string
  state: string
  kind: string
  expires_at: string | null
}

/** The content of every file in the home. */
const homeText = (home: string): string =>
  readdirSync(home, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'))
    .join('\n')

describe('holdfast auth', { concurrency: 4 }, () => {
  test('a key is piped in, stored encrypted, listed masked, replaced and removed', async (context) => {
    const fixture = await providersFixture(context)
    const { home } = fixture.location
    const added = await addKey(fixture.location, 'openai', { label: 'work', key: SECRET })
    assert.deepEqual([added.code, added.stderr], [0, ''])
    assert.match(added.stdout, /^Stored work …3f2a for openai, encrypted\.\n/)
    const again = await addKey(fixture.location, 'openai', { label: 'work', key: SECRET })
    assert.equal(again.code, 4)
    assert.match(again.stderr, /already has a credential labeled "work"/)
    const input = 'sk-another-0123456789-9999'
    const args = ['auth', 'add', 'openai', '--label', 'work', '--key-stdin', '--replace']
    assert.match((await holdfast(args, { ...fixture.location, input })).stdout, /^Stored work …9999/)

    const [member] = await fixture.json<Member[]>('auth', 'list')
    assert.deepEqual([member!.label, member!.hint, member!.state, member!.kind], ['work', '…9999', 'ok', 'api-key'])
    assert.match((await fixture.run('auth')).stdout, /^openai\n {2}work …9999 {2}ok {2}key/)
    assert.match((await fixture.run('auth', 'refresh', 'openai')).stdout, /work of openai has nothing to refresh\./)
    const rotated = await fixture.run('auth', 'rotate-key')
    assert.match(rotated.stdout, /has a new encryption key\. 1 credential encrypted again/)
    assert.equal((await fixture.json<Member[]>('auth', 'list'))[0]!.hint, '…9999')
    assert.doesNotMatch(homeText(home), /sk-very-secret|sk-another/)

    const asked = await fixture.run('auth', 'remove', 'work')
    assert.equal(asked.code, 2)
    assert.match(asked.stderr, /Add --yes to remove work of openai/)
    assert.match((await fixture.run('auth', 'remove', 'work', '--yes')).stdout, /^Removed work of openai \(credential-/)
    assert.deepEqual(await fixture.json<Member[]>('auth', 'list'), [])
  })

  test('mistakes print one sentence and never repeat a possible key', async (context) => {
    const home = newHome(context)
    const output = async (args: string[], input?: string) => {
      const { code, stderr, stdout } = await holdfast(['auth', ...args], {
        home,
        ...defined({ input: input || undefined }),
      })
      assert.doesNotMatch(stderr + stdout, new RegExp(SECRET))
      assert.doesNotMatch(stderr, /bug|\n\s+at /)
      return `${code} ${stderr}`
    }
    assert.match(await output(['add', 'opnai']), /^3 .*There is no provider "opnai"\. Known: anthropic, /)
    assert.match(await output(['add', 'openai']), /^2 .*no terminal to read the API key from.*--key-stdin/)
    assert.match(await output(['add', 'openai', SECRET]), /^2 .*too many arguments/)
    assert.match(await output(['add', 'openai', '--key-stdin'], '\n'), /^2 .*needs a secret/)
    assert.match(
      await output(['add', 'openai', '--key-stdin'], `${SECRET}\n${SECRET}\n`),
      /^2 .*An API key must be one word/,
    )
    assert.match(
      await output(['add', 'openai', '--key-stdin', '--device']),
      /^2 .*Use only one of --key-stdin, --token-stdin and --device/,
    )
    assert.match(
      await output(['add', 'openai', '--device']),
      /^2 .*openai does not support signing in with a device code/,
    )
    assert.match(await output(['add', 'nous', '--token-stdin'], 'no json'), /^2 .*must be a JSON object/)
    assert.match(await output(['refresh', 'nobody']), /^3 .*There is no provider or credential "nobody" to refresh/)
    assert.match(await output(['remove', 'nobody', '--yes']), /^3 .*There is no credential "nobody"/)
  })

  test('a key can be added while another process owns the home, which uses it in its next turn', async (context) => {
    const fixture = await providersFixture(context, { keys: { [SECRET]: 'valid' } })
    await fixture.run('agents', 'create', 'ada', '--model', 'openai/simulated-model')
    const owner = startHoldfast(['chat', '--agent', 'ada'], fixture.location)
    await owner.waitForText('ada')
    owner.type('first\n')
    await owner.waitForText('What to do: Set OPENAI_API_KEY')
    assert.equal((await addKey(fixture.location, 'openai', { label: 'late', key: SECRET })).code, 0)
    owner.child.stdin.end()
    await owner.ended

    const next = startHoldfast(['chat', '--agent', 'ada'], fixture.location)
    await next.waitForText('ada')
    await fixture.run('auth', 'remove', 'late', '--yes')
    assert.equal((await addKey(fixture.location, 'openai', { label: 'later', key: SECRET })).code, 0)
    next.type('second\n')
    await next.waitForText('You said: second')
    next.child.stdin.end()
    assert.equal((await next.ended).code, 0)
  })

  test('a key typed at a terminal is not echoed', { skip: lacksTerminal }, async (context) => {
    const home = newHome(context)
    const typing = startAtTerminal(['auth', 'add', 'openai', '--label', 'typed'], { home })
    await typing.waitForText('(hidden)')
    typing.type(`${SECRET}X\x7f\r`)
    const { code, stdout } = await typing.ended
    assert.equal(code, 0, stdout)
    assert.match(stdout, /Stored typed …3f2a for openai/)
    assert.doesNotMatch(stdout, /sk-very-secret/)

    const leaving = startAtTerminal(['auth', 'add', 'openai', '--label', 'left'], { home })
    await leaving.waitForText('(hidden)')
    leaving.type('sk-half\x03')
    assert.equal((await leaving.ended).code, 130)
    const asking = startAtTerminal(['auth', 'remove', 'typed'], { home })
    await asking.waitForText('[y/N]')
    asking.type('n\r')
    assert.match((await asking.ended).stdout, /Nothing was removed\./)
    assert.match((await holdfast(['auth'], { home })).stdout, /typed …3f2a/)
  })
})

describe('logins', { concurrency: 3 }, () => {
  const config = (url: string) =>
    `providers:\n  nous:\n    base_url: ${url}/v1\n    oauth: { token_url: ${url}/oauth/token, device_code_url: ${url}/oauth/device/code }\n`

  test('a device login prints code and address, waits, is stored, works and is renewed', async (context) => {
    const fixture = await providersFixture(context, { keys: { nobody: 'valid' } })
    fixture.config(config(fixture.simulator.url))
    fixture.simulator.oauth.settings.pendingPolls = 'never'
    const signing = startHoldfast(['auth', 'add', 'nous', '--label', 'portal', '--device'], fixture.location)
    await signing.waitForText('enter USER-0001')
    await signing.waitForText(`Open ${fixture.simulator.url}/oauth/device`)
    fixture.simulator.oauth.approve('USER-0001')
    const { code, stdout } = await signing.ended
    assert.equal(code, 0, stdout)
    assert.match(stdout, /Stored portal for nous, encrypted\./)
    assert.match((await fixture.run('providers', 'test', 'nous', '--model', 'm')).stdout, /^✓ nous\/m .*, with portal/)

    const renewed = await fixture.run('auth', 'refresh', 'nous')
    assert.equal(renewed.code, 0)
    assert.match(renewed.stdout, /portal of nous was refreshed; its token is valid until \d{4}-/)
    fixture.simulator.oauth.revoke('refresh-2')
    const dead = await fixture.run('auth', 'refresh', 'portal')
    assert.equal(dead.code, 1)
    assert.match(
      dead.stdout,
      /portal of nous can no longer be refreshed: .*Sign in again: `\S.*auth add nous --label portal --device`/,
    )
    assert.match((await fixture.run('providers')).stdout, /^nous +dead .*\n {2}portal .*dead \(/m)
    assert.doesNotMatch(homeText(fixture.location.home), /access-\d|refresh-\d/)
  })

  test('a stopped or declined login is reported and stores nothing', async (context) => {
    const fixture = await providersFixture(context)
    fixture.config(config(fixture.simulator.url))
    fixture.simulator.oauth.settings.pendingPolls = 'never'
    const stopped = startHoldfast(['auth', 'add', 'nous', '--device'], fixture.location)
    await stopped.waitForText('Waiting')
    stopped.child.kill('SIGINT')
    const { code, stdout } = await stopped.ended
    assert.equal(code, 130)
    assert.match(stdout, /Stopped\. Nothing was stored\./)
    const declined = startHoldfast(['auth', 'add', 'nous', '--device'], fixture.location)
    await declined.waitForText('enter USER-0002')
    fixture.simulator.oauth.deny('USER-0002')
    const end = await declined.ended
    assert.deepEqual([end.code, /declined\. Nothing was stored/.test(end.stdout)], [1, true])
    assert.deepEqual(await fixture.json<Member[]>('auth', 'list'), [])
  })

  test('imported tokens are stored with their renewal endpoint', async (context) => {
    const fixture = await providersFixture(context, { keys: { nobody: 'valid' } })
    fixture.config(`providers:\n  house: { base_url: ${fixture.simulator.url}/v1 }\n`)
    const input = JSON.stringify(fixture.simulator.oauth.issue())
    const args = ['auth', 'add', 'house', '--token-stdin']
    const lost = await holdfast(args, { ...fixture.location, input })
    assert.deepEqual([lost.code, /--token-url/.test(lost.stderr)], [2, true])
    const url = `${fixture.simulator.url}/oauth/token`
    assert.equal((await holdfast([...args, '--token-url', url], { ...fixture.location, input })).code, 0)
    assert.match((await fixture.run('auth', 'refresh', 'house')).stdout, /default of house was refreshed/)
    assert.match((await fixture.run('providers', 'test', 'house', '--model', 'm')).stdout, /^✓ /)
  })
})
