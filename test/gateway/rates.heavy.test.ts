import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TELEGRAM_RATES } from '../../src/simulator/telegram/rates.ts'
import { openGatewayFixture, until } from './fixture-gateway.ts'

test('fifty chats that stream at once stay within the rates of the platform', async (context) => {
  const text = 'word '.repeat(120).trim()
  const { telegram } = await openGatewayFixture(context, {
    isPaced: true,
    telegram: { rates: TELEGRAM_RATES },
    home: { maxRunning: 64, script: [{ text, pace: { chunkSize: 20, delayMs: 250 } }] },
  })
  for (let index = 0; index < 50; index++)
    telegram.say(`go ${index}`, { user: { id: 6_000 + index, first_name: 'Person' } })
  const answers = () => telegram.messages.filter(({ from, text: said }) => from.is_bot && said === text)
  await until(() => answers().length === 50, telegram)
  assert.equal(telegram.calls.filter(({ status }) => status === 429).length, 0)
})
