import { DatabaseSync } from 'node:sqlite'
import { DEFAULT_ORGANIZATION } from '../../../../src/core/id.ts'
import { findAgent } from '../../../../src/service/agents/agents.ts'
import { listSessions } from '../../../../src/service/gateway/chat-sessions.ts'
import { sendMessage } from '../../../../src/service/messages/send-message.ts'
import { checkAllGateway } from '../../../../src/service/store/check-gateway.ts'
import { type Kernel, newKernel } from '../kernel.ts'
import { type GatewayProcess, startGatewayProcess } from './gateway-process.ts'
import { DISCORD_FAULTS, newSimulatedDiscord } from './simulated-discord.ts'
import { MATRIX_FAULTS, newSimulatedMatrix } from './simulated-matrix.ts'
import { PEOPLE, type Said, type SimulatedPlatform } from './simulated-platform.ts'
import { newSimulatedSlack, SLACK_FAULTS } from './simulated-slack.ts'
import { newSimulatedTelegram, TELEGRAM_FAULTS } from './simulated-telegram.ts'

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

const PLATFORMS = {
  telegram: { faults: TELEGRAM_FAULTS, simulate: newSimulatedTelegram },
  slack: { faults: SLACK_FAULTS, simulate: newSimulatedSlack },
  discord: { faults: DISCORD_FAULTS, simulate: newSimulatedDiscord },
  matrix: { faults: MATRIX_FAULTS, simulate: newSimulatedMatrix },
} as const

export type SimulatedPlatformName = keyof typeof PLATFORMS

type Expectation = { text: string; answer: string; kind: 'echo' | 'post' | 'unprompted' | 'silent' }

/** One day of two servers with one account: faults of the platform, the store and the processes, then a calm end. */
export async function runGatewaySeed(
  seed: number,
  platformName: SimulatedPlatformName = 'telegram',
): Promise<GatewaySeedReport> {
  const kernel = newKernel(seed)
  const { faults: possible, simulate } = PLATFORMS[platformName]
  const faults = new Set<string>(possible.filter(() => kernel.chance(0.6)))
  const mayKill = kernel.chance(0.7)
  const mayPause = kernel.chance(0.4)
  const storeFaults = kernel.chance(0.5)
  const platform = simulate(kernel, faults)
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
      platform,
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
  for (let person = 0; person < PEOPLE; person++) void talk(person, { kernel, platform, expected })
  void press(kernel, platform)
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
  platform.endFaults()
  kernel.log('the faults are over')
  const isSettled = () => unansweredOf(expected, platform.said()).length === 0
  for (let until = kernel.now(); !isSettled() && until < DURATION_MS + SETTLE_MS && !kernel.isExhausted(); ) {
    until += 10_000
    await kernel.run(until)
  }
  // A second owner or a second answer would show now.
  const calmAt = kernel.now() + QUIET_MS
  await kernel.run(calmAt)
  await kernel.run(calmAt + QUIET_MS)
  if (platform.conflictsSince(calmAt) > 0) violations.push('two processes receive for one account')
  violations.push(...checkAnswers(expected, { said: platform.said(), posted }))
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
  const strays = platform.said().filter(({ text }) => INTERIM.test(text)).length
  const lost = Number(database.prepare('select sum(lost) as count from gateway_outbound').get()?.count)
  if (strays > lost) violations.push(`${strays} messages never became an answer, and only ${lost} were lost`)
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

type Talk = { kernel: Kernel; platform: SimulatedPlatform; expected: Expectation[] }

async function talk(person: number, { kernel, platform, expected }: Talk): Promise<void> {
  await platform.introduce?.(person)
  for (let count = 0; kernel.now() < DURATION_MS - 5_000; count++) {
    await kernel.delay(kernel.between(500, 9_000))
    const isPost = kernel.chance(0.3)
    const isSlow = !isPost && kernel.chance(0.2)
    const text = `${isPost ? 'post ' : isSlow ? 'slow ' : ''}U${person}-${count}`
    const answer = isPost ? `May I? ${text}` : `You said: ${text}`
    expected.push({ text, answer, kind: isPost ? 'post' : 'echo' })
    // Without a list of approvers, calls are approved in private chats.
    platform.say(text, person, { isPrivate: isPost })
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
      // As a heartbeat does whose agent has nothing to say.
      const isSilent = count % 4 === 3
      const text = `${isSilent ? 'beat' : 'api'}-${count}`
      const answer = `You said: ${text}`
      const content = [{ type: 'text' as const, text }]
      const request = { agent, conversationId: session.conversationId, content, otid: text }
      await sendMessage(isSilent ? Object.assign(request, { silence: answer }) : request, context)
      expected.push({ text, answer, kind: isSilent ? 'silent' : 'unprompted' })
    }
    // Refused, or its process died: then the API did not accept it.
    void send().catch(() => undefined)
  }
}

/** People press every button, sometimes twice, and sometimes the other one a little later. */
async function press(kernel: Kernel, platform: SimulatedPlatform): Promise<void> {
  const pressed = new Map<string, number>()
  for (;;) {
    await kernel.delay(kernel.between(300, 2_000))
    for (const { id, buttons } of platform.said()) {
      const [approve, deny] = buttons
      const times = pressed.get(id) ?? 0
      // A press may be lost, so people try again as long as there are buttons.
      if (!approve || !deny || (times >= 4 && !kernel.chance(0.1))) continue
      pressed.set(id, times + 1)
      platform.press(id, kernel.chance(0.6) ? approve.callback_data : deny.callback_data)
      // The buttons are still there for a person who has not seen the edit yet.
      if (kernel.chance(0.4)) platform.press(id, deny.callback_data)
      if (kernel.chance(0.4)) platform.press(id, approve.callback_data)
    }
  }
}

/** A message that never became an answer: a placeholder, an empty stream, or progress. */
const INTERIM = /^$|^…$|▌$|^⏳/

/** A run whose process died three times at one step is given up, and the chat is told. */
const GIVEN_UP = /died three times/

/** Messages without an answer, unless as many were told that their run was given up. */
function unansweredOf(expected: readonly Expectation[], said: readonly Said[]): Expectation[] {
  const missing = expected.filter(({ answer, kind }) => kind !== 'silent' && countOf(answer, said) === 0)
  return missing.length <= said.filter(({ text }) => GIVEN_UP.test(text)).length ? [] : missing
}

const countOf = (text: string, said: readonly Said[]): number =>
  said.filter(({ counted }) => counted.includes(text)).length

type Outcome = { said: readonly Said[]; posted: ReadonlyMap<string, number> }

function checkAnswers(expected: readonly Expectation[], { said, posted }: Outcome): string[] {
  const unanswered = new Set(unansweredOf(expected, said))
  return expected.flatMap((one) => {
    const { text, answer, kind } = one
    const count = countOf(answer, said)
    if (kind === 'silent') return count === 0 ? [] : [`the silence after "${text}" was said ${count} times`]
    const faults = count > 1 || unanswered.has(one) ? [`"${text}" was answered ${count} times`] : []
    if (kind !== 'post') return faults
    const to = text.slice('post '.length)
    const times = posted.get(to) ?? 0
    const doneCount = countOf(`Done: ${text}`, said)
    if (doneCount > 1) faults.push(`the end of "${text}" was said ${doneCount} times`)
    if (times > 0 && doneCount === 0) faults.push(`"${to}" was posted and the chat was not told`)
    const isPrompt = ({ versions }: Said) => versions.some((one) => one.includes(`"to": "${to}"`))
    const refused = said.some((message) => isPrompt(message) && message.text.includes('was denied'))
    if (refused && times > 0) faults.push(`"${to}" was denied and posted`)
    return faults
  })
}
