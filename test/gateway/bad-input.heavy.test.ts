import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pressData } from '../../src/core/gateway/approval-token.ts'
import { DEFAULT_ORGANIZATION } from '../../src/core/id.ts'
import { lastInput } from '../../src/providers/scripted/current-turn.ts'
import { listAccounts } from '../../src/service/gateway/accounts.ts'
import { listOutbound } from '../../src/service/gateway/updates.ts'
import { tool } from '../harness/tools.ts'
import { openGatewayFixture, TOKEN, until } from './fixture-gateway.ts'

test('a button that is pressed after its approval expired has no effect, and the prompt says that it expired', async (context) => {
  const guarded = tool('send_postcard', () => ({ status: 'success', output: 'sent' }), { needsApproval: true })
  const { telegram, waitFor, fixture } = await openGatewayFixture(context, {
    home: {
      tools: [guarded],
      script: [{ calls: [{ tool: 'send_postcard', input: { to: 'Bob' } }] }, { text: 'never said' }],
      defaults: { approvalTtlMs: 1 },
    },
  })
  telegram.say('send a postcard')
  const prompt = await waitFor(/the approval expired, so the call was not made/)
  assert.ok(prompt.versions.some((text) => /needs your approval/.test(text)))
  assert.deepEqual(prompt.buttons, [])
  const [row] = await listOutbound({ limit: 1 }, fixture.context)
  const [token] = await fixture.context.deps.store.gateway.tokensOf(DEFAULT_ORGANIZATION, row!.runId!)
  const pressed = telegram.press(prompt, pressData(token!.token, 'approve'))
  await until(() => telegram.presses.get(pressed)?.text !== undefined, telegram)
  assert.equal(fixture.requests.length, 1)
  assert.match(prompt.text, /expired/)
})

test('a token that is revoked while the bot is up stops the account with the reason, and its answer waits', async (context) => {
  const { telegram, waitFor, fixture } = await openGatewayFixture(context, {
    home: { script: ({ messages }) => [{ text: `You said: ${lastInput(messages)}` }] },
  })
  telegram.say('before')
  await waitFor('You said: before')
  telegram.say('after')
  telegram.bots.get(TOKEN)!.isRevoked = true
  const state = async () => (await listAccounts(fixture.context))[0]
  await until(async () => (await state())?.state === 'refused', telegram)
  assert.equal((await state())?.detail, 'Unauthorized')
  const states = (await listOutbound({ limit: 5 }, fixture.context)).map(({ state }) => state)
  assert.ok(
    states.every((one) => one === 'sent' || one === 'pending'),
    states.join(),
  )
})

test('4,097 characters of half a Markdown table arrive whole, in two messages', async (context) => {
  const table = `| name | value |\n| --- | --- |\n${'| row | <&> |\n'.repeat(400)}`.slice(0, 4_097)
  const { telegram, fixture } = await openGatewayFixture(context, { home: { script: [{ text: table }] } })
  telegram.say('show me')
  const parts = () => telegram.messages.filter(({ from, text }) => from.is_bot && text !== '…').map(({ text }) => text)
  const all = async () => (await listOutbound({ limit: 5 }, fixture.context)).filter(({ state }) => state === 'sent')
  await until(async () => (await all()).length === 2, telegram)
  assert.ok(parts().every((text) => text.length <= 4_096))
  const rows = (text: string) => text.match(/<&>/g)?.length
  assert.equal(rows(parts().join('\n')), rows(table))
})
