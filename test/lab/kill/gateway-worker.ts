import { openApp } from '../../../src/app.ts'
import { realClock } from '../../../src/config/real-clock.ts'
import { lastInput } from '../../../src/providers/scripted/current-turn.ts'
import { newScriptedProvider } from '../../../src/providers/scripted/script.ts'

// A server without HTTP: the engine, the jobs and the gateway of a home. Its model repeats what it was told.
const echo = newScriptedProvider({
  clock: realClock,
  scriptFor: ({ messages }) => [{ text: `You said: ${lastInput(messages)}` }],
})

const app = await openApp({ environment: process.env, role: 'owner', hasGateway: true, providers: { echo } })
process.stdout.write('ready\n')
process.once('SIGTERM', () => void app.close().then(() => process.exit(0)))
// Without HTTP nothing else keeps the process alive between two polls.
setInterval(() => undefined, 60_000)
