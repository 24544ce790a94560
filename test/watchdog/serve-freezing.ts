import { writeSync } from 'node:fs'
import { homeOf, openApp, restoreBackup } from '../../src/app.ts'
import { runCli } from '../../src/cli/run-cli.ts'
import type { ModelProvider } from '../../src/ports/model.ts'
import { newScriptedProvider } from '../../src/providers/scripted/script.ts'

// The command of Holdfast with one more provider: its model `freezing/model` holds the event loop when it is told to.

const scripted = newScriptedProvider({ clock: { sleep: async () => {} }, scriptFor: () => [{ text: 'well' }] })

const freezing: ModelProvider = {
  stream(request, options) {
    const told = JSON.stringify(request.messages.at(-1))
    if (told.includes('loop')) loopForEver()
    // A pattern that backtracks for ever, as a schema of a stranger could have one.
    if (told.includes('backtrack')) /^(a+)+$/.test(`${'a'.repeat(100)}!`)
    return scripted.stream(request, options)
  },
}

function loopForEver(): never {
  writeSync(2, 'the model holds the event loop\n')
  for (;;);
}

process.exitCode = await runCli(process.argv.slice(2), {
  openApp: (options) => openApp({ ...options, providers: { freezing } }),
  homeOf,
  simulateChat: () => Promise.reject(new Error('not here')),
  addChatAccount: () => Promise.reject(new Error('not here')),
  simulate: () => Promise.reject(new Error('not here')),
  serve: async (options) => (await import('../../src/http/serve-home.ts')).serveHome(options),
  inProcess: async (options) => (await import('../../src/http/in-process.ts')).inProcessServer(options),
  restore: restoreBackup,
  environment: process.env,
  version: 'test',
})
