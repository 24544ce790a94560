import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { AccountSettings } from '../../src/core/gateway/settings.ts'
import { type Gateway, startGateway } from '../../src/gateway/gateway.ts'
import { listAccounts } from '../../src/service/gateway/accounts.ts'
import { type MatrixOptions, type MatrixServer, startMatrix } from '../../src/simulator/matrix/matrix-server.ts'
import { BOT, SERVER, type SimulatedMessage } from '../../src/simulator/matrix/world.ts'
import { type HomeFixture, type HomeFixtureOptions, openHomeFixture } from '../harness/fixture-home.ts'
import { openWithoutPace, until } from './fixture-gateway.ts'

export const BOB = { id: `@bob:${SERVER}`, name: 'Bob' }
const TOKEN = 'matrix-test'

type MatrixFixture = {
  fixture: HomeFixture
  matrix: MatrixServer
  start(): void
  stop(): Promise<void>
  configure(changed: Partial<AccountSettings>): Promise<void>
  /** What the bot says in a room now, without placeholders. */
  said(room?: string): string[]
  /** Waits until the bot says something that matches; returns the message. */
  waitFor(pattern: RegExp | string, room?: string): Promise<SimulatedMessage>
  /** Waits until the account is in this state; returns the reason. */
  state(name: string): Promise<string>
  connected(): Promise<void>
}

type Options = {
  home?: HomeFixtureOptions
  matrix?: MatrixOptions
  settings?: Partial<AccountSettings>
}

/** A home with an agent, whose gateway talks to a simulated homeserver. */
export async function openMatrixFixture(context: TestContext, options: Options = {}): Promise<MatrixFixture> {
  const matrix = await startMatrix({ token: TOKEN, ...options.matrix })
  let gateway: Gateway | undefined
  const stop = async () => {
    await gateway?.stop()
    gateway = undefined
  }
  context.after(async () => {
    await stop()
    await matrix.close()
    assert.deepEqual(fixture.faults, [])
  })
  const fixture = await openHomeFixture(context, options.home)
  let settings: AccountSettings = {
    platform: 'matrix',
    apiRoot: matrix.url,
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
    gateway = startGateway({ accounts: { matrix: settings }, context: fixture.context, open: openWithoutPace })
  }
  const isSaid = (message: SimulatedMessage, room: string) =>
    message.room === room && message.sender === BOT.id && message.text !== '…'
  const said = (room = matrix.directRoom().id) =>
    matrix.messages.filter((message) => isSaid(message, room)).map(({ text }) => text)
  start()
  return {
    fixture,
    matrix,
    start,
    stop,
    said,
    connected: () =>
      until(
        () => matrix.connections() > 0,
        matrix,
        () => `no connection; ${fixture.faults}`,
      ),
    async configure(changed) {
      await stop()
      settings = { ...settings, ...changed }
      start()
    },
    async state(name) {
      const account = async () => (await listAccounts(fixture.context))[0]
      await until(async () => (await account())?.state === name, matrix)
      return (await account())?.detail ?? ''
    },
    async waitFor(pattern, room = matrix.directRoom().id) {
      const matches = (text: string) => (typeof pattern === 'string' ? text === pattern : pattern.test(text))
      const find = () => matrix.messages.find((message) => isSaid(message, room) && matches(message.text))
      await until(
        () => find() !== undefined,
        matrix,
        () => `${pattern} was not said, but: ${JSON.stringify(said(room))}; faults: ${fixture.faults}`,
      )
      return find()!
    },
  }
}
