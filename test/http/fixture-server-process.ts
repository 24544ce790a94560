import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { Letta } from '@letta-ai/letta-client'
import { openApp } from '../../src/app.ts'
import { createAgent } from '../../src/service/agents/create-agent.ts'
import { type Simulator, startSimulator } from '../../src/simulator/start-simulator.ts'
import { type CliProcess, startHoldfast } from '../cli/holdfast.ts'

export const KEY = 'test-key-that-is-long-enough-for-anybody'

/** A real server process on a real home, a scripted provider, and the official client. */
export type Server = {
  simulator: Simulator
  client: Letta
  home: string
  /** Environment variables of the process. */
  environment: Record<string, string>
  url(): string
  pid(): number
  /** Kills the process, like a crash. */
  kill(): Promise<void>
  stop(): Promise<void>
  /** Restarts on the same home and port, so that clients can reconnect. */
  start(): Promise<void>
  /** Sends a request as the client would, without the client. */
  fetch(path: string, init?: RequestInit & { key?: string }): Promise<Response>
  close(): Promise<void>
}

export type ServedAgent = Omit<Server, 'close'> & { agentId: string }

export type ServedAgentOptions = { tools?: string[]; environment?: Record<string, string> }

/** A server with one agent for one test. */
export async function serveFor(
  context: TestContext,
  { tools, environment }: ServedAgentOptions = {},
): Promise<ServedAgent> {
  const server = await prepareServer(environment)
  context.after(() => server.close())
  const agentId = await makeAgent(server, tools)
  await server.start()
  return { ...server, client: new Letta({ baseURL: server.url(), apiKey: KEY }), agentId }
}

/** A server that runs until it is closed; its clients reconnect after a restart. */
export async function openServer(environment: Record<string, string> = {}): Promise<Server> {
  const server = await prepareServer(environment)
  await server.start()
  return { ...server, client: new Letta({ baseURL: server.url(), apiKey: KEY }) }
}

async function prepareServer(given: Record<string, string> = {}): Promise<Omit<Server, 'client'>> {
  const simulator = await startSimulator()
  const home = mkdtempSync(join(tmpdir(), 'holdfast-http-'))
  writeFileSync(join(home, 'config.yaml'), configFor(simulator.url))
  const environment = {
    OPENAI_BASE_URL: `${simulator.url}/v1`,
    OPENAI_API_KEY: 'sk-simulated',
    HOLDFAST_API_KEY: KEY,
    ANTHROPIC_BASE_URL: simulator.url,
    ANTHROPIC_API_KEY: 'sk-ant-simulated',
    ...given,
  }
  let process: CliProcess | undefined
  let port = 0
  const end = async (signal: NodeJS.Signals) => {
    process?.child.kill(signal)
    await process?.ended
  }
  const url = () => `http://127.0.0.1:${port}`
  return {
    simulator,
    home,
    environment,
    url,
    pid: () => process?.child.pid ?? 0,
    async start() {
      process = startHoldfast(['serve', '--port', String(port)], { home, environment })
      let output = ''
      process.child.stdout.on('data', (text) => {
        output += text
      })
      await process.waitForText('Try it:')
      port = Number(/127\.0\.0\.1:(\d+)/.exec(output)?.[1])
    },
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
    fetch: (path, { key = KEY, ...init } = {}) =>
      fetch(`${url()}${path}`, {
        ...init,
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...init.headers },
      }),
    async close() {
      await end('SIGKILL')
      await simulator.close()
      rmSync(home, { recursive: true, force: true })
    },
  }
}

/** Separate providers for tests with failures, whose cooldowns must not affect other tests. */
const configFor = (url: string): string =>
  JSON.stringify({
    providers: {
      slow: { base_url: `${url}/slow/v1`, timeout_ms: 200 },
      limited: { base_url: `${url}/limited/v1` },
      locked: { base_url: `${url}/locked/v1` },
      broken: { base_url: `${url}/broken/v1` },
    },
  })

async function makeAgent({ home, environment }: Pick<Server, 'home' | 'environment'>, tools = TOOLS): Promise<string> {
  const app = await openApp({ environment: { ...environment, HOLDFAST_HOME: home }, role: 'owner' })
  try {
    return (await createAgent({ name: 'ada', model: MODEL, tools }, app.context)).id
  } finally {
    await app.close()
  }
}

export const MODEL = 'openai/simulated-model'
/** A tool that just runs, one that needs approval, and a slow one. */
export const TOOLS = ['roll_dice', 'send_postcard', 'slow_count']
