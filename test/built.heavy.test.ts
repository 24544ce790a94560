import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startSimulator } from '../src/simulator/start-simulator.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const inProcess = promisify(execFile)
const folder = mkdtempSync(join(tmpdir(), 'holdfast-built-'))

// As npm would unpack it: the built folder, the manifest and the dependencies.
before(async () => {
  await inProcess(process.execPath, ['build.ts', join(folder, 'dist')], { cwd: ROOT })
  copyFileSync(join(ROOT, 'package.json'), join(folder, 'package.json'))
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
})
after(() => rmSync(folder, { recursive: true, force: true }))

const environment = {
  PATH: process.env.PATH,
  HOLDFAST_HOME: join(folder, 'home'),
  XDG_CACHE_HOME: join(folder, 'cache'),
}

test('the published command answers a message', async () => {
  const command = [join(folder, 'dist/main.js'), 'run', 'What time is it?']
  const { stdout } = await inProcess(process.execPath, command, { env: environment })
  assert.match(stdout, /\d\d:\d\d/)
})

test('a start leaves its compiled code for the next, and works without if the cache cannot be written', async () => {
  const caches = join(folder, 'caches')
  const version = [join(folder, 'dist/main.js'), '--version']
  await inProcess(process.execPath, version, { env: { ...environment, XDG_CACHE_HOME: caches } })
  assert.ok(readdirSync(join(caches, 'holdfast/compiled')).length > 0)
  // A file where the folder should be.
  const nowhere = { ...environment, XDG_CACHE_HOME: join(folder, 'package.json') }
  const { stdout } = await inProcess(process.execPath, version, { env: nowhere })
  assert.match(stdout, /^\d+\.\d+\.\d+\n$/)
})

test('the published command reads config.yaml and calls the provider it names', async () => {
  const simulator = await startSimulator()
  const home = join(folder, 'configured')
  mkdirSync(home)
  const providers = { house: { base_url: `${simulator.url}/house/v1` } }
  writeFileSync(join(home, 'config.yaml'), JSON.stringify({ model: 'house/talker', providers }))
  const command = [join(folder, 'dist/main.js'), 'run', 'Good morning']
  const { stdout } = await inProcess(process.execPath, command, { env: { ...environment, HOLDFAST_HOME: home } })
  await simulator.close()
  assert.match(stdout, /Good morning/)
  assert.equal(simulator.requests.length, 1)
})

test('the published command serves its API', async () => {
  const command = [join(folder, 'dist/main.js'), 'serve', '--port', '0']
  const server = inProcess(process.execPath, command, { env: environment })
  const address = await new Promise<string>((found, lost) => {
    let output = ''
    server.child.stdout!.on('data', (text: string) => {
      output += text
      const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(output) ?? []
      if (url) found(url)
    })
    server.catch(lost)
  })
  assert.equal((await fetch(`${address}/v1/health/`)).status, 200)
  server.child.kill('SIGTERM')
  await server
})

test('a program that embeds Holdfast finds its entry point and its types', async () => {
  const { openHoldfast } = (await import(join(folder, 'dist/embedded.js'))) as typeof import('../src/embedded.ts')
  const holdfast = await openHoldfast({ home: join(folder, 'inside'), environment: {} })
  await holdfast.close()
  const reader = join(folder, 'reader.ts')
  writeFileSync(
    reader,
    `import { openHoldfast } from 'holdfast'\nexport const opened: Promise<number> = openHoldfast\n`,
  )
  const options = ['--noEmit', '--strict', '--module', 'nodenext', '--skipLibCheck', '--ignoreConfig']
  const checked = inProcess('node_modules/.bin/tsc', [...options, reader], { cwd: ROOT })
  await assert.rejects(checked, (fault: { stdout: string }) => fault.stdout.includes("Promise<Holdfast>' is not"))
})

test('a program with models of the AI SDK finds their entry point, and its agent answers with them', async () => {
  const program = join(folder, 'program.mjs')
  writeFileSync(
    program,
    `import { openHoldfast } from 'holdfast'
     import { modelsOfAiSdk } from 'holdfast/ai-sdk'
     import { MockLanguageModelV3, simulateReadableStream } from 'ai/test'
     const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } }
     const chunks = [
       { type: 'text-start', id: '1' }, { type: 'text-delta', id: '1', delta: 'hello' }, { type: 'text-end', id: '1' },
       { type: 'finish', usage, finishReason: { unified: 'stop', raw: 'stop' } },
     ]
     const model = new MockLanguageModelV3({ doStream: async () => ({ stream: simulateReadableStream({ chunks }) }) })
     const providers = { mine: modelsOfAiSdk(() => model, { provider: 'mine' }) }
     const holdfast = await openHoldfast({ providers })
     const agent = await holdfast.agents.create({ name: 'one', model: 'mine/any' })
     const { run } = await holdfast.messages.ask({ agent, text: 'hi' }, { signal: AbortSignal.timeout(20_000) })
     console.log(run.stopReason)
     await holdfast.close()`,
  )
  const { stdout } = await inProcess(process.execPath, [program], {
    env: { ...environment, HOLDFAST_HOME: join(folder, 'sdk') },
  })
  assert.equal(stdout.trim(), 'end_turn')
})
