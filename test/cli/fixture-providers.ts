import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { type Simulator, type SimulatorOptions, startSimulator } from '../../src/simulator/start-simulator.ts'
import { type CliLocation, type CliResult, holdfast, newHome } from './holdfast.ts'

export type ProvidersFixture = {
  simulator: Simulator
  location: CliLocation
  /** Runs the CLI with this home and environment. */
  run(...args: string[]): Promise<CliResult>
  json<T>(...args: string[]): Promise<T>
  config(text: string): void
}

/** A home whose OpenAI, Anthropic and Gemini are simulated on this machine. */
export async function providersFixture(
  context: TestContext,
  { environment = {}, ...options }: SimulatorOptions & { environment?: Record<string, string> } = {},
): Promise<ProvidersFixture> {
  const simulator = await startSimulator(options)
  context.after(() => simulator.close())
  const home = newHome(context)
  const addresses = { OPENAI_BASE_URL: `${simulator.url}/v1`, ANTHROPIC_BASE_URL: simulator.url }
  const location = { home, environment: { ...addresses, GEMINI_BASE_URL: simulator.url, ...environment } }
  const run = (...args: string[]) => holdfast(args, location)
  return {
    simulator,
    location,
    run,
    json: async <T>(...args: string[]): Promise<T> => JSON.parse((await run(...args, '--json')).stdout),
    config: (text) => writeFileSync(join(home, 'config.yaml'), text),
  }
}

export const addKey = (
  location: CliLocation,
  provider: string,
  { label, key }: { label: string; key: string },
): Promise<CliResult> =>
  holdfast(['auth', 'add', provider, '--label', label, '--key-stdin'], { ...location, input: `${key}\n` })
