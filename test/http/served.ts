import type { TestContext } from 'node:test'
import { Letta } from '@letta-ai/letta-client'
import { openApp } from '../../src/app.ts'
import { createAgent } from '../../src/service/create-agent.ts'
import type { Simulator } from '../../src/simulator/start-simulator.ts'
import { newHome, type Started, startHoldfast } from '../cli/holdfast.ts'
import { simulatorFor } from '../simulator/given.ts'

export const KEY = 'test-key-that-is-long-enough-for-anybody'

/** A real server process on a real home, a provider that does as it is told, and the official client. */
export type Served = {
  simulator: Simulator
  client: Letta
  agentId: string
  home: string
  url(): string
  /** As a crash would, or a person who pulls the plug. */
  kill(): Promise<void>
  stop(): Promise<void>
  /** On the same home and the same port: clients need not notice. */
  start(): Promise<void>
  /** What the client would send, by hand. */
  fetch(path: string, init?: RequestInit & { key?: string }): Promise<Response>
}

export type ServedOptions = { tools?: string[]; environment?: Record<string, string> }

export async function serveFor(context: TestContext, options: ServedOptions = {}): Promise<Served> {
  const simulator = await simulatorFor(context)
  const home = newHome(context)
  const environment = {
    ...{ OPENAI_BASE_URL: `${simulator.url}/v1`, OPENAI_API_KEY: 'sk-simulated', HOLDFAST_API_KEY: KEY },
    ...options.environment,
  }
  const agentId = await makeAgent({ home, environment, tools: options.tools })
  let process: Started | undefined
  let port = 0

  async function start(): Promise<void> {
    process = startHoldfast(['serve', '--port', String(port)], { home, environment })
    let said = ''
    process.child.stdout.on('data', (text) => {
      said += text
    })
    await process.saw('Try it:')
    port = Number(/127\.0\.0\.1:(\d+)/.exec(said)?.[1])
  }
  const end = async (signal: NodeJS.Signals) => {
    process?.child.kill(signal)
    await process?.ended
  }
  await start()
  context.after(() => end('SIGKILL'))
  const url = () => `http://127.0.0.1:${port}`
  return {
    ...{ simulator, agentId, home, url, start },
    client: new Letta({ baseURL: url(), apiKey: KEY }),
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
    fetch: (path, { key = KEY, ...init } = {}) =>
      fetch(`${url()}${path}`, {
        ...init,
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...init.headers },
      }),
  }
}

type NewAgent = { home: string; environment: Record<string, string>; tools: string[] | undefined }

async function makeAgent({ home, environment, tools }: NewAgent): Promise<string> {
  const app = await openApp({ environment: { ...environment, HOLDFAST_HOME: home }, role: 'owner' })
  try {
    const request = {
      name: 'ada',
      model: 'openai/simulated-model',
      tools: tools ?? ['roll_dice', 'send_postcard', 'slow_count'],
    }
    return (await createAgent(request, app.desk)).id
  } finally {
    await app.close()
  }
}
