import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { AccountSettings } from '../../src/core/gateway/settings.ts'
import type { Transcribe } from '../../src/gateway/account-deps.ts'
import { type Gateway, startGateway } from '../../src/gateway/gateway.ts'
import { type OpenPlatform, openPlatform } from '../../src/gateway/platforms.ts'
import {
  startTelegram,
  type TelegramOptions,
  type TelegramServer,
} from '../../src/simulator/telegram/telegram-server.ts'
import type { SimulatedChat, SimulatedMessage, SimulatedUser } from '../../src/simulator/telegram/world.ts'
import { type HomeFixture, type HomeFixtureOptions, openHomeFixture } from '../harness/fixture-home.ts'

export const TOKEN = '4242:test-token'
export const ADA: SimulatedUser = { id: 1_001, first_name: 'Ada' }
export const BOB: SimulatedUser = { id: 1_002, first_name: 'Bob' }
export const TEAM: SimulatedChat = { id: -500, type: 'group', title: 'Team' }

export type GatewayFixture = {
  fixture: HomeFixture
  telegram: TelegramServer
  settings: AccountSettings
  /** Restarts the gateway with other settings. */
  configure(changed: Partial<AccountSettings>, deps?: { transcribe?: Transcribe | undefined }): Promise<void>
  stop(): Promise<void>
  start(): void
  /** What the bot says in a chat now, without placeholders. */
  said(chatId?: number): string[]
  /** Waits until the bot says something that matches; returns the message. */
  waitFor(pattern: RegExp | string, chatId?: number): Promise<SimulatedMessage>
}

type Options = {
  home?: HomeFixtureOptions
  telegram?: TelegramOptions
  settings?: Partial<AccountSettings>
  transcribe?: Transcribe
  /** Calls wait for the rates of the platform. */
  isPaced?: boolean
  /** More accounts of the same server, on other platforms. */
  others?: Record<string, AccountSettings>
}

/** Tests that do not ask about rates do not wait for them. */
export const openWithoutPace: OpenPlatform = async (...given) => {
  const platform = await openPlatform(...given)
  const pace = { privateMs: 1, groupMs: 1, burst: 100, groupBurst: 100, perSecond: 10_000 }
  return { ...platform, capabilities: { ...platform.capabilities, pace } }
}

/** A home with an agent, whose gateway talks to a simulated Telegram through grammY. */
export async function openGatewayFixture(context: TestContext, options: Options = {}): Promise<GatewayFixture> {
  const telegram = await startTelegram({ tokens: [TOKEN], ...options.telegram })
  let gateway: Gateway | undefined
  const stop = async () => {
    await gateway?.stop()
    gateway = undefined
  }
  // Before the home ends: after that no call of its store is answered.
  context.after(async () => {
    await stop()
    await telegram.close()
    assert.deepEqual(fixture.faults, [])
  })
  const fixture = await openHomeFixture(context, options.home)
  let settings = settingsFor(telegram.url, options.settings)
  let { transcribe } = options
  const start = () => {
    gateway = startGateway({
      accounts: { bot: settings, ...options.others },
      context: fixture.context,
      open: options.isPaced ? openPlatform : openWithoutPace,
      transcribe: () => transcribe,
    })
  }
  start()
  const said = (chatId = ADA.id) =>
    telegram.messages
      .filter(({ chat, from, text }) => chat.id === chatId && from.is_bot === true && text !== '…')
      .map(({ text }) => text)
  return {
    fixture,
    telegram,
    get settings() {
      return settings
    },
    async configure(changed, deps) {
      await stop()
      if (deps) transcribe = deps.transcribe
      settings = { ...settings, ...changed }
      start()
    },
    start,
    stop,
    said,
    async waitFor(pattern, chatId = ADA.id) {
      const matches = (text: string) => (typeof pattern === 'string' ? text === pattern : pattern.test(text))
      const find = () =>
        telegram.messages.find(
          ({ chat, from, text }) => chat.id === chatId && from.is_bot === true && text !== '…' && matches(text),
        )
      await until(
        () => find() !== undefined,
        telegram,
        () => `${pattern} was not said, but: ${JSON.stringify(said(chatId))}; faults: ${fixture.faults}`,
      )
      return find()!
    },
  }
}

export const settingsFor = (apiRoot: string, changed: Partial<AccountSettings> = {}): AccountSettings => ({
  platform: 'telegram',
  apiRoot,
  token: TOKEN,
  access: 'open',
  allow: [],
  groups: {},
  approvers: [],
  busy: 'queue',
  routing: 'per-chat',
  toolsets: {},
  ...changed,
})

const PATIENCE_MS = 30_000

/** Waits for a condition, which is looked at whenever something happens at the platform, and now and then. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  platform: { listen(listener: () => void): () => void },
  describe: () => string = () => 'the condition did not become true',
): Promise<void> {
  const end = Date.now() + PATIENCE_MS
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(describe())
    await new Promise<void>((resolve) => {
      const done = () => {
        clearTimeout(timer)
        stop()
        resolve()
      }
      const timer = setTimeout(done, 50)
      const stop = platform.listen(done)
    })
  }
}
