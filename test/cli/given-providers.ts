import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { type Simulator, type SimulatorOptions, startSimulator } from '../../src/simulator/start-simulator.ts'
import { type Ended, holdfast, newHome, type Place } from './holdfast.ts'

export type GivenProviders = {
  simulator: Simulator
  place: Place
  /** Runs the program here. */
  tell(...args: string[]): Promise<Ended>
  json<T>(...args: string[]): Promise<T>
  config(text: string): void
}

/** A home whose OpenAI and Anthropic are played on this machine. */
export async function givenProviders(
  context: TestContext,
  { environment = {}, ...options }: SimulatorOptions & { environment?: Record<string, string> } = {},
): Promise<GivenProviders> {
  const simulator = await startSimulator(options)
  context.after(() => simulator.close())
  const home = newHome(context)
  const addresses = { OPENAI_BASE_URL: `${simulator.url}/v1`, ANTHROPIC_BASE_URL: simulator.url }
  const place = { home, environment: { ...addresses, GEMINI_BASE_URL: simulator.url, ...environment } }
  const tell = (...args: string[]) => holdfast(args, place)
  return {
    simulator,
    place,
    tell,
    json: async <T>(...args: string[]): Promise<T> => JSON.parse((await tell(...args, '--json')).stdout),
    config: (text) => writeFileSync(join(home, 'config.yaml'), text),
  }
}

export const addKey = (
  place: Place,
  provider: string,
  { label, key }: { label: string; key: string },
): Promise<Ended> =>
  holdfast(['auth', 'add', provider, '--label', label, '--key-stdin'], { ...place, input: `${key}\n` })
