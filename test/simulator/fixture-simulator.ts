import type { TestContext } from 'node:test'
import { defined } from '../../src/core/defined.ts'
import { type Simulator, type SimulatorOptions, startSimulator } from '../../src/simulator/start-simulator.ts'

/** A simulator for one test, closed after it. */
export async function simulatorFixture(context: TestContext, options: SimulatorOptions = {}): Promise<Simulator> {
  const simulator = await startSimulator(options)
  context.after(() => simulator.close())
  return simulator
}

export const post = (
  url: string,
  body: unknown,
  options: { key?: string; signal?: AbortSignal } = {},
): Promise<Response> =>
  fetch(url, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: {
      'content-type': 'application/json',
      ...defined({ authorization: options.key ? `Bearer ${options.key}` : undefined }),
    },
    ...defined({ signal: options.signal }),
  })

export const askChat = (
  simulator: Simulator,
  options: { text?: string; key?: string; signal?: AbortSignal; model?: string; stream?: boolean } = {},
): Promise<Response> => {
  const { text = 'Hello', model = 'a-model', stream = true, ...rest } = options
  return post(
    `${simulator.url}/v1/chat/completions`,
    { model, stream, messages: [{ role: 'user', content: text }] },
    rest,
  )
}
