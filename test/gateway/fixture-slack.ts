import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { AccountSettings } from '../../src/core/gateway/settings.ts'
import { type Gateway, startGateway } from '../../src/gateway/gateway.ts'
import { openPlatform } from '../../src/gateway/platforms.ts'
import { type SlackOptions, type SlackServer, startSlack } from '../../src/simulator/slack/slack-server.ts'
import { ADA, type SimulatedMessage } from '../../src/simulator/slack/world.ts'
import { type HomeFixture, type HomeFixtureOptions, openHomeFixture } from '../harness/fixture-home.ts'
import { openWithoutPace, until } from './fixture-gateway.ts'

export const TOKENS = { bot: 'xoxb-test', app: 'xapp-test' }
export const BOB = { id: 'U0000BOB', name: 'Bob' }
export const TEAM = { id: 'C0000TEAM', name: 'team' }

type SlackFixture = {
  fixture: HomeFixture
  slack: SlackServer
  start(): void
  stop(): Promise<void>
  configure(changed: Partial<AccountSettings>): Promise<void>
  /** What the bot says in a channel now, without placeholders. */
  said(channel?: string): string[]
  /** Waits until the bot says something that matches; returns the message. */
  waitFor(pattern: RegExp | string, channel?: string): Promise<SimulatedMessage>
  connected(): Promise<void>
}

type Options = {
  home?: HomeFixtureOptions
  slack?: SlackOptions
  settings?: Partial<AccountSettings>
  isPaced?: boolean
}

/** A home with an agent, whose gateway talks to a simulated Slack through Slack's libraries. */
export async function openSlackFixture(context: TestContext, options: Options = {}): Promise<SlackFixture> {
  const slack = await startSlack({ tokens: TOKENS, ...options.slack })
  let gateway: Gateway | undefined
  const stop = async () => {
    await gateway?.stop()
    gateway = undefined
  }
  context.after(async () => {
    await stop()
    await slack.close()
    assert.deepEqual(fixture.faults, [])
  })
  const fixture = await openHomeFixture(context, options.home)
  let settings = slackSettings(slack.url, options.settings)
  const start = () => {
    const open = options.isPaced ? openPlatform : openWithoutPace
    gateway = startGateway({ accounts: { slack: settings }, context: fixture.context, open })
  }
  const direct = slack.directChannel(ADA).id
  const isSaid = ({ isBot, text, onlyFor }: SimulatedMessage) =>
    isBot && onlyFor === undefined && text !== '…' && text !== ''
  const said = (channel = direct) =>
    slack.messages.filter((message) => message.channel === channel && isSaid(message)).map(({ text }) => text)
  const connected = () =>
    until(
      () => slack.connections() > 0,
      slack,
      () => `no connection; faults: ${fixture.faults}`,
    )
  start()
  await connected()
  return {
    fixture,
    slack,
    start,
    stop,
    said,
    connected,
    async configure(changed) {
      await stop()
      settings = { ...settings, ...changed }
      start()
    },
    async waitFor(pattern, channel = direct) {
      const matches = (text: string) => (typeof pattern === 'string' ? text === pattern : pattern.test(text))
      const find = () =>
        slack.messages.find((message) => message.channel === channel && isSaid(message) && matches(message.text))
      await until(
        () => find() !== undefined,
        slack,
        () => `${pattern} was not said, but: ${JSON.stringify(said(channel))}; faults: ${fixture.faults}`,
      )
      return find()!
    },
  }
}

export const slackSettings = (apiRoot: string, changed: Partial<AccountSettings> = {}): AccountSettings => ({
  platform: 'slack',
  apiRoot,
  token: TOKENS.bot,
  appToken: TOKENS.app,
  access: 'open',
  allow: [],
  groups: {},
  approvers: [],
  busy: 'queue',
  routing: 'per-chat',
  toolsets: {},
  ...changed,
})
