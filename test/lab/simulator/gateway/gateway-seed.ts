import { DatabaseSync } from 'node:sqlite'
import type { AccountSettings } from '../../../../src/core/gateway/settings.ts'
import { DEFAULT_ORGANIZATION } from '../../../../src/core/id.ts'
import { findAgent } from '../../../../src/service/agents/agents.ts'
import { listSessions } from '../../../../src/service/gateway/chat-sessions.ts'
import { sendMessage } from '../../../../src/service/messages/send-message.ts'
import { checkAllGateway } from '../../../../src/service/store/check-gateway.ts'
import type { SimulatedMessage, SimulatedUser } from '../../../../src/simulator/telegram/world.ts'
import { type Kernel, newKernel } from '../kernel.ts'
import { type GatewayProcess, startGatewayProcess } from './gateway-process.ts'
import { newSimulatedTelegram, type PlatformFault, type SimulatedTelegram } from './simulated-telegram.ts'

export type GatewaySeedReport = {
  violations: string[]
  story: string[]
  hash: string
  events: number
  messages: number
}

const DURATION_MS = 40_000
/** The longest pause that the platform asks for, and the backoff after it. */
const SETTLE_MS = 900_000
const QUIET_MS = 30_000
const FAULTS: PlatformFault[] = ['cut-before', 'cut-after', 'flood', 'down', 'redelivery']

const SETTINGS: AccountSettings = {
  platform: 'telegram',
  token: '4242:simulated',
  access: 'open',
  allow: [],
  groups: {},
  approvers: [],
  busy: 'queue',
  routing: 'per-chat',
  toolsets: {},
}

type Expectation = { text: string; answer: string; kind: 'echo' | 'post' | 'unprompted'; user: SimulatedUser }

/** One day of two servers with one account: faults of the platform, the store and the processes, then a calm end. */
export async function runGatewaySeed(seed: number): Promise<GatewaySeedReport> {
  const kernel = newKernel(seed)
  const faults = new Set(FAULTS.filter(() => kernel.chance(0.6)))
  const mayKill = kernel.chance(0.7)
  const mayPause = kernel.chance(0.4)
  const storeFaults = kernel.chance(0.5)
  const telegram = newSimulatedTelegram(kernel, faults)
  const database = new DatabaseSync(':memory:')
  const violations: string[] = []
  const posted = new Map<string, number>()
  const processes: GatewayProcess[] = []
  let isCalm = false
  let lives = 0

  const boot = async (): Promise<void> => {
    const process = await startGatewayProcess({
      name: `p${++lives}`,
      kernel,
      database,
      telegram,
      settings: SETTINGS,
      hasStoreFaults: () => storeFaults && !isCalm,
      posted: (to) => void posted.set(to, (posted.get(to) ?? 0) + 1),
      report: (fault) => kernel.log(`a fault: ${fault instanceof Error ? fault.message : fault}`),
      onDeath: () => void kernel.after(kernel.between(50, 4_000), () => void boot().catch(fail)),
    })
    processes.push(process)
  }
  const fail = (fault: unknown) => {
    if (fault instanceof Error && fault.name === 'StorageError') kernel.after(500, () => void boot().catch(fail))
    else violations.push(`an internal error: ${fault instanceof Error ? fault.stack : fault}`)
  }
  process.on('unhandledRejection', fail)
  const booted = createAgent(database, kernel).then(() => Promise.all([boot(), boot()]))
  booted.catch(fail)
  const expected: Expectation[] = []
  for (let user = 0; user < 3; user++)
    void talk({ id: 3_000 + user, first_name: `U${user}` }, { kernel, telegram, expected })
  void press(kernel, telegram)
  void sendUnprompted({ kernel, expected, alive: () => processes.filter((each) => each.isAlive) })
  void trouble()

  async function trouble(): Promise<void> {
    while (kernel.now() < DURATION_MS) {
      await kernel.delay(kernel.between(500, 6_000))
      const alive = processes.filter((each) => each.isAlive)
      if (alive.length === 0) continue
      const victim = kernel.pick(alive)
      if (mayKill && kernel.chance(0.5)) victim.kill('at a random moment')
      else if (mayPause && kernel.chance(0.3)) victim.pause(kernel.between(2_000, 25_000))
    }
  }

  await kernel.run(DURATION_MS)
  isCalm = true
  telegram.endFaults()
  kernel.log('the faults are over')
  const isSettled = () => expected.every((one) => countOf(one.answer, telegram.world.messages) > 0)
  for (let until = kernel.now(); !isSettled() && until < DURATION_MS + SETTLE_MS && !kernel.isExhausted(); ) {
    until += 10_000
    await kernel.run(until)
  }
  // A second owner or a second answer would show now.
  const calmAt = kernel.now() + QUIET_MS
  await kernel.run(calmAt)
  await kernel.run(calmAt + QUIET_MS)
  if (telegram.conflictsSince(calmAt) > 0) violations.push('two processes receive for one account')
  violations.push(...checkAnswers(expected, { telegram, posted }))
  const alive = processes.find((each) => each.isAlive)
  const check = async () => {
    if (alive) for (const { detail } of await checkAllGateway(alive.context, new Set())) violations.push(detail)
  }
  void check().catch(fail)
  await kernel.run(kernel.now() + 5_000)
  const unknown = Number(
    database.prepare("select count(*) as count from gateway_outbound where state in ('unknown', 'failed')").get()
      ?.count,
  )
  const strays = telegram.world.messages.filter(({ from, text }) => from.is_bot && text === '…').length
  const lost = Number(database.prepare('select sum(lost) as count from gateway_outbound').get()?.count)
  if (strays > lost) violations.push(`${strays} placeholders stayed empty, and only ${lost} were lost`)
  if (unknown > 0) violations.push(`${unknown} messages ended unknown or failed`)
  for (const each of processes) each.kill('the day is over')
  process.off('unhandledRejection', fail)
  return { violations, story: kernel.story, hash: kernel.hash(), events: kernel.events(), messages: expected.length }
}

async function createAgent(database: DatabaseSync, kernel: Kernel): Promise<void> {
  const { shareSqliteStore } = await import('../../../../src/storage/sqlite.ts')
  const clock = {
    now: kernel.now,
    monotonic: kernel.now,
    sleep: kernel.delay,
    every: () => () => {},
    soon: (task: () => void) => void kernel.after(0, task),
  }
  const { store } = await shareSqliteStore({ database, clock, ownership: 'peer' })
  await store.agents.create(
    {
      id: `agent-${kernel.uuid()}`,
      organizationId: DEFAULT_ORGANIZATION,
      name: 'keeper',
      system: 'You keep things.',
      model: 'test/model',
      fallback: [],
      tools: ['post'],
      createdAt: 0,
      updatedAt: 0,
    },
    `conv-${kernel.uuid()}`,
  )
}

type Talk = { kernel: Kernel; telegram: SimulatedTelegram; expected: Expectation[] }

async function talk(user: SimulatedUser, { kernel, telegram, expected }: Talk): Promise<void> {
  for (let count = 0; kernel.now() < DURATION_MS - 5_000; count++) {
    await kernel.delay(kernel.between(500, 9_000))
    const isPost = kernel.chance(0.3)
    const text = `${isPost ? 'post ' : ''}${user.first_name}-${count}`
    const answer = isPost ? `May I? ${text}` : `You said: ${text}`
    expected.push({ text, answer, kind: isPost ? 'post' : 'echo', user })
    telegram.world.say(text, { user })
  }
}

type Unprompted = { kernel: Kernel; expected: Expectation[]; alive(): GatewayProcess[] }

/** Now and then the API sends a message into the conversation of a chat, which hears the answer. */
async function sendUnprompted({ kernel, expected, alive }: Unprompted): Promise<void> {
  for (let count = 0; kernel.now() < DURATION_MS - 5_000; count++) {
    await kernel.delay(kernel.between(1_000, 8_000))
    if (alive().length === 0) continue
    const { context } = kernel.pick(alive())
    const send = async () => {
      const [session] = await listSessions({ limit: 1 }, context)
      const agent = session && (await findAgent(session.agentId, context))
      if (!session || !agent) return
      const text = `api-${count}`
      const content = [{ type: 'text' as const, text }]
      await sendMessage({ agent, conversationId: session.conversationId, content, otid: text }, context)
      const user = { id: Number(session.chatId), first_name: 'Ada' }
      expected.push({ text, answer: `You said: ${text}`, kind: 'unprompted', user })
    }
    // Refused, or its process died: then the API did not accept it.
    void send().catch(() => undefined)
  }
}

/** People press every button, sometimes twice, and sometimes the other one a little later. */
async function press(kernel: Kernel, { world }: SimulatedTelegram): Promise<void> {
  const pressed = new Map<number, number>()
  for (;;) {
    await kernel.delay(kernel.between(300, 2_000))
    for (const message of world.messages) {
      const [approve, deny] = message.buttons
      const times = pressed.get(message.message_id) ?? 0
      if (!approve || !deny || times >= 4) continue
      pressed.set(message.message_id, times + 1)
      const user = { id: message.chat.id, first_name: 'Presser' }
      world.press(message, kernel.chance(0.6) ? approve.callback_data : deny.callback_data, user)
      // The buttons are still there for a person who has not seen the edit yet.
      if (kernel.chance(0.4)) world.press(message, deny.callback_data, user)
      if (kernel.chance(0.4)) world.press(message, approve.callback_data, user)
    }
  }
}

const countOf = (text: string, messages: readonly SimulatedMessage[]): number =>
  messages.filter(({ from, text: said, versions }) => from.is_bot && (said === text || versions.includes(text))).length

type Outcome = { telegram: SimulatedTelegram; posted: ReadonlyMap<string, number> }

function checkAnswers(expected: readonly Expectation[], { telegram, posted }: Outcome): string[] {
  const { messages } = telegram.world
  const firstPress = (to: string): string | undefined => {
    const done = messages.find(({ from, text }) => from.is_bot && text === `Done: post ${to}`)
    return done?.text
  }
  return expected.flatMap(({ text, answer, kind }) => {
    const count = countOf(answer, messages)
    const faults = count === 1 ? [] : [`"${text}" was answered ${count} times`]
    if (kind !== 'post') return faults
    const to = text.slice('post '.length)
    const times = posted.get(to) ?? 0
    const doneCount = countOf(`Done: ${text}`, messages)
    if (doneCount > 1) faults.push(`the end of "${text}" was said ${doneCount} times`)
    if (times > 0 && firstPress(to) === undefined) faults.push(`"${to}" was posted and the chat was not told`)
    const isPrompt = ({ versions }: SimulatedMessage) => versions.some((said) => said.includes(`"to": "${to}"`))
    const refused = messages.some((message) => isPrompt(message) && message.text.includes('was denied'))
    if (refused && times > 0) faults.push(`"${to}" was denied and posted`)
    return faults
  })
}
