import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { AccountSettings } from '../../src/core/gateway/settings.ts'
import { type Gateway, startGateway } from '../../src/gateway/gateway.ts'
import { type DiscordOptions, type DiscordServer, startDiscord } from '../../src/simulator/discord/discord-server.ts'
import { ADA, GUILD, type SimulatedMessage } from '../../src/simulator/discord/world.ts'
import { type HomeFixture, type HomeFixtureOptions, openHomeFixture } from '../harness/fixture-home.ts'
import { openWithoutPace, until } from './fixture-gateway.ts'

export const BOB = { id: '100000000000001002', username: 'Bob' }
export const TEAM = { id: '600000000000000001', type: 0, guild_id: GUILD }
export const THREAD = { id: '600000000000000002', type: 11, guild_id: GUILD, parent_id: TEAM.id }
const TOKEN = 'discord-test'

type DiscordFixture = {
  fixture: HomeFixture
  discord: DiscordServer
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
  discord?: DiscordOptions
  settings?: Partial<AccountSettings>
  /** Before the gateway starts. */
  prepare?(discord: DiscordServer): void
}

/** A home with an agent, whose gateway talks to a simulated Discord through Discord's libraries. */
export async function openDiscordFixture(context: TestContext, options: Options = {}): Promise<DiscordFixture> {
  const discord = await startDiscord({ token: TOKEN, ...options.discord })
  discord.channels.set(TEAM.id, TEAM)
  discord.channels.set(THREAD.id, THREAD)
  options.prepare?.(discord)
  let gateway: Gateway | undefined
  const stop = async () => {
    await gateway?.stop()
    gateway = undefined
  }
  context.after(async () => {
    await stop()
    await discord.close()
    assert.deepEqual(fixture.faults, [])
  })
  const fixture = await openHomeFixture(context, options.home)
  let settings: AccountSettings = {
    platform: 'discord',
    apiRoot: discord.url,
    token: TOKEN,
    access: 'open',
    allow: [],
    groups: {},
    approvers: [],
    busy: 'queue',
    routing: 'per-chat',
    toolsets: {},
    ...options.settings,
  }
  const start = () => {
    gateway = startGateway({ accounts: { discord: settings }, context: fixture.context, open: openWithoutPace })
  }
  const direct = discord.directChannel(ADA).id
  const isSaid = ({ author, content }: SimulatedMessage) => author.bot === true && content !== '…'
  const said = (channel = direct) =>
    discord.messages
      .filter((message) => message.channel.id === channel && isSaid(message))
      .map(({ content }) => content)
  const connected = () =>
    until(
      () => discord.connections() > 0,
      discord,
      () => `no connection; ${fixture.faults}`,
    )
  start()
  return {
    fixture,
    discord,
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
        discord.messages.find(
          (message) => message.channel.id === channel && isSaid(message) && matches(message.content),
        )
      await until(
        () => find() !== undefined,
        discord,
        () => `${pattern} was not said, but: ${JSON.stringify(said(channel))}; faults: ${fixture.faults}`,
      )
      return find()!
    },
  }
}
