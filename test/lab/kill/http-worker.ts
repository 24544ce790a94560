import { appendFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { openApp } from '../../../src/app.ts'
import { serveHome } from '../../../src/http/serve-home.ts'
import { flushAndExit } from '../../harness/flush-and-exit.ts'
import { tapDatabases } from './database-tap.ts'
import { newTrap, parseKillPoint, trappedModel, trappedStore } from './kill-point.ts'
import { watchRecovery } from './recovery.ts'
import { killScript } from './script.ts'
import { killTools } from './tools.ts'

/**
 * One life of the server that the kill harness kills: a home with the tools and the model of the harness, served over
 * HTTP. Its clients run in the parent and survive it.
 */
const { HOLDFAST_HOME: home, KILL_AT, KILL_EFFECTS, KILL_PORT = '0', KILL_KEY } = process.env
if (!home || !KILL_EFFECTS || !KILL_KEY) throw new Error('the kill harness sets HOLDFAST_HOME, KILL_EFFECTS, KILL_KEY')

const report = (what: string, value: object = {}) => process.stdout.write(`${JSON.stringify({ what, ...value })}\n`)
const trap = newTrap(KILL_AT ? parseKillPoint(KILL_AT) : undefined)
tapDatabases(trap)
const recovery = watchRecovery()

const app = await openApp({
  environment: process.env,
  role: 'owner',
  tools: killTools((line) => appendFileSync(KILL_EFFECTS, `${line}\n`), trap),
  providers: { lab: trappedModel(killScript, trap) },
  wrapStore: (store) => recovery.watch(trappedStore(store, trap)),
})
const server = await serveHome({
  context: app.context,
  home: app.settings.home,
  host: '127.0.0.1',
  port: Number(KILL_PORT),
  version: 'lab',
  environmentKey: KILL_KEY,
  report: (fault, where) => {
    const text = fault instanceof Error ? (fault.stack ?? fault.message) : String(fault)
    process.stderr.write(`fault: ${where}: ${text}\n`)
  },
})
createInterface({ input: process.stdin }).on('line', (order) => {
  if (order !== 'stop') return
  void server
    .close()
    .then(() => app.close())
    .then(flushAndExit)
})
report('ready', { url: server.url })
void recovery.moving().then((moved) => report('moving', moved))
