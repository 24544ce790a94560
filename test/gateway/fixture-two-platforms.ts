import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { defined } from '../../src/core/defined.ts'
import type { AccountSettings } from '../../src/core/gateway/settings.ts'
import { type SlackServer, startSlack } from '../../src/simulator/slack/slack-server.ts'
import type { SimulatedMessage, SimulatedUser } from '../../src/simulator/slack/world.ts'
import type { HomeFixtureOptions } from '../harness/fixture-home.ts'
import { type GatewayFixture, openGatewayFixture, until } from './fixture-gateway.ts'
import { slackSettings, TOKENS } from './fixture-slack.ts'

export const BOSS: SimulatedUser = { id: 'U0000BOSS', name: 'Boss' }
/** Of the messages; the gateway names a private chat by its person. */
export const BOSS_CHAT = 'D0000BOSS'

type TwoPlatforms = GatewayFixture & {
  slack: SlackServer
  /** Waits until the bot says something that matches in a chat of Slack. */
  onSlack(pattern: RegExp, channel?: string): Promise<SimulatedMessage>
  saidOnSlack(channel?: string): string[]
  /** Slack loses what is said while nothing is connected. */
  connected(): Promise<void>
  /** What Slack showed this person alone, such as the answer to a press. */
  shownTo(user: SimulatedUser): string[]
}

type Options = { home: HomeFixtureOptions; telegram?: Partial<AccountSettings>; slack?: Partial<AccountSettings> }

/** One server with the account `bot` on Telegram and the account `desk` on Slack, each through its own library. */
export async function openTwoPlatforms(context: TestContext, options: Options): Promise<TwoPlatforms> {
  const slack = await startSlack({ tokens: TOKENS })
  const gateway = await openGatewayFixture(context, {
    home: options.home,
    ...defined({ settings: options.telegram }),
    others: { desk: slackSettings(slack.url, options.slack) },
  })
  context.after(() => slack.close())
  slack.users.set(BOSS.id, BOSS)
  const connected = () => until(() => slack.connections() > 0, slack)
  if (options.slack?.token === undefined) await connected()
  const isSaid = ({ isBot, text, onlyFor }: SimulatedMessage) => isBot && onlyFor === undefined && text !== ''
  const messagesIn = (channel: string) => slack.messages.filter((one) => one.channel === channel && isSaid(one))
  const saidOnSlack = (channel = BOSS_CHAT) => messagesIn(channel).map(({ text }) => text)
  return {
    ...gateway,
    slack,
    connected,
    saidOnSlack,
    shownTo: ({ id }) => slack.messages.filter(({ onlyFor }) => onlyFor === id).map(({ text }) => text),
    async onSlack(pattern, channel = BOSS_CHAT) {
      const find = () => messagesIn(channel).find(({ text }) => pattern.test(text))
      await until(
        () => find() !== undefined,
        slack,
        () =>
          `${pattern} was not said, but: ${JSON.stringify(saidOnSlack(channel))}; faults: ${gateway.fixture.faults}`,
      )
      const found = find()
      assert.ok(found)
      return found
    },
  }
}
