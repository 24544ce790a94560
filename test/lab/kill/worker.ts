import { appendFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { openApp } from '../../../src/app.ts'
import { flushAndExit } from '../../harness/flush-and-exit.ts'
import { runClientsUntilDrained } from './clients.ts'
import { tapDatabases } from './database-tap.ts'
import { newTrap, parseKillPoint, trappedModel, trappedStore } from './kill-point.ts'
import { watchRecovery } from './recovery.ts'
import { killScript } from './script.ts'
import { killTools } from './tools.ts'

/**
 * One life of the process that the kill harness kills: it runs agents on a real home, sends, cancels, approves and
 * watches, and reports every response to its parent. The parent decides when it dies.
 */
const {
  HOLDFAST_HOME: home,
  KILL_SEED = '1',
  KILL_AT,
  KILL_EFFECTS,
  KILL_PLACES = '6',
  KILL_OWN_PLACES = '0',
} = process.env
if (!home || !KILL_EFFECTS) throw new Error('the kill harness sets HOLDFAST_HOME and KILL_EFFECTS')

const send = (what: string, value: object = {}) => process.stdout.write(`${JSON.stringify({ what, ...value })}\n`)
const trap = newTrap(KILL_AT ? parseKillPoint(KILL_AT) : undefined)
const tap = tapDatabases(trap)
const recovery = watchRecovery()

const app = await openApp({
  environment: process.env,
  role: 'owner',
  tools: killTools((line) => appendFileSync(KILL_EFFECTS, `${line}\n`), trap),
  providers: { lab: trappedModel(killScript, trap) },
  wrapStore: (store) => recovery.watch(trappedStore(store, trap)),
})
const draining = new AbortController()
const stopping = Promise.withResolvers<never>()
let isStopping = false
const orders: Record<string, () => void> = {
  drain: () => draining.abort(),
  fill: tap.fill,
  'make-room': tap.makeRoom,
  stop() {
    isStopping = true
    void app.close().then(flushAndExit)
  },
}
createInterface({ input: process.stdin }).on('line', (order) => orders[order]?.())

send('started', { workerId: app.context.engine!.workerId })
void recovery.moving().then((moved) => send('moving', moved))
await runClientsUntilDrained(app.context, {
  seed: Number(KILL_SEED),
  conversations: Number(KILL_PLACES),
  ownConversations: Number(KILL_OWN_PLACES),
  draining: draining.signal,
  report: send,
}).catch((problem) => {
  // Errors of clients are expected while the process closes its store.
  if (!isStopping) throw problem
  return stopping.promise
})
await app.close()
flushAndExit()
