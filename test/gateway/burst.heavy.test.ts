import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lastInput } from '../../src/providers/scripted/current-turn.ts'
import { listAccounts } from '../../src/service/gateway/accounts.ts'
import { openGatewayFixture, until } from './fixture-gateway.ts'

const UPDATES = 500
const PEOPLE = 50

test(`a burst of ${UPDATES} updates is stored at once and answered completely, in the order of each chat`, {
  timeout: 1_200_000,
}, async (context) => {
  const { telegram, fixture, stop, start } = await openGatewayFixture(context, {
    home: { maxRunning: 16, script: ({ messages }) => [{ text: `You said: ${lastInput(messages)}` }] },
    settings: { busy: 'queue' },
  })
  await stop()
  for (let number = 0; number < UPDATES; number++)
    telegram.say(`message ${number}`, { user: { id: 7_000 + (number % PEOPLE), first_name: 'Person' } })
  start()
  const answers = (chat: number) =>
    telegram.messages
      .filter(({ from, chat: { id }, text }) => from.is_bot && id === chat && text.startsWith('You said'))
      .map(({ text }) => text)
  const count = () => telegram.messages.filter(({ from, text }) => from.is_bot && text.startsWith('You said')).length
  const all = async () => count() === UPDATES
  for (let rounds = 0; rounds < 30 && !(await all()); rounds++) await until(all, telegram).catch(() => undefined)
  assert.equal(count(), UPDATES)
  for (let person = 0; person < PEOPLE; person++) {
    const said = Array.from({ length: UPDATES / PEOPLE }, (_, index) => `You said: message ${person + index * PEOPLE}`)
    assert.deepEqual(answers(7_000 + person), said)
  }
  const open = async () => {
    const [account] = await listAccounts(fixture.context)
    return account!.pendingInbound + account!.openOutbound + account!.openDeliveries
  }
  await until(async () => (await open()) === 0, telegram)
})
