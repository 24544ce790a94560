import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { cpSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { Letta } from '@letta-ai/letta-client'
import { npmInstall, packInto, tryNpmInstall } from './harness/npm-install.ts'

/** Only Holdfast itself: every consumer would install a dependency that increases this number. */
const MAX_PACKAGES = 1
const KEY = 'key-of-the-package-test'
const OLD_NODE =
  /^Holdfast needs Node\.js 22\.16 or later \(not 23\); this is 20\.\d+\.\d+\. Install a newer one from https:\/\/nodejs\.org\.$/

/** Programs that embed Holdfast, as in the documentation. They are valid JavaScript and TypeScript. */
const EXAMPLES = ['embed', 'define-tool', 'define-provider', 'serve'] as const
const EXAMPLE_FOLDER = new URL('../examples/', import.meta.url)

const folder = mkdtempSync(join(tmpdir(), 'holdfast-package-'))
const consumer = join(folder, 'consumer')
const installed = join(consumer, 'node_modules/holdfast')
const command = join(consumer, 'node_modules/.bin/holdfast')
const inProcess = promisify(execFile)

before(async () => {
  const tarball = await packInto(folder)
  await npmInstall(consumer, [tarball])
  for (const name of EXAMPLES) cpSync(new URL(`${name}.ts`, EXAMPLE_FOLDER), join(consumer, `${name}.ts`))
  // Has no type in it, so that a Node.js that does not strip types can run it.
  cpSync(new URL('embed.ts', EXAMPLE_FOLDER), join(consumer, 'embed.mjs'))
})
after(() => rmSync(folder, { recursive: true, force: true }))

test('a consumer installs no package that is not loaded', () => {
  const lock = JSON.parse(readFileSync(join(consumer, 'node_modules/.package-lock.json'), 'utf8')) as {
    packages: object
  }
  const names = Object.keys(lock.packages)
  assert.ok(names.length <= MAX_PACKAGES, names.join(', '))
})

test('the package has one declaration file for each entry point, its licenses, and no source', () => {
  assert.deepEqual(globSync('**/*.d.ts', { cwd: installed }).sort(), ['dist/ai-sdk.d.ts', 'dist/embedded.d.ts'])
  assert.match(
    readFileSync(join(installed, 'LICENSE'), 'utf8'),
    /Apache License\s+Version 2\.0.*END OF TERMS AND CONDITIONS/s,
  )
  assert.match(readFileSync(join(installed, 'dist/third-party-licenses.txt'), 'utf8'), /^fastify .* \(MIT\)$/m)
  assert.ok(!existsSync(join(installed, 'src')))
})

test('the bill of materials names everything that is bundled, with the hash that the lock file requires', () => {
  const bill = JSON.parse(readFileSync(join(installed, 'dist/sbom.cdx.json'), 'utf8')) as {
    components: { name: string; version: string; hashes: { alg: string; content: string }[] }[]
  }
  const licensed = readFileSync(join(installed, 'dist/third-party-licenses.txt'), 'utf8')
  const { packages } = JSON.parse(readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8')) as {
    packages: Record<string, { integrity?: string }>
  }
  assert.ok(bill.components.length > 20)
  for (const { name, version, hashes } of bill.components) {
    assert.ok(licensed.includes(`${name} ${version} (`), name)
    const locked = Object.entries(packages).filter(([path]) => path.endsWith(`node_modules/${name}`))
    const known = locked.map(([, { integrity = '' }]) => Buffer.from(integrity.slice(7), 'base64').toString('hex'))
    assert.ok(known.includes(hashes[0]!.content), name)
  }
})

test('every relative link of the packed documentation leads to a packed file', () => {
  const pages = globSync('{*,docs/*}.md', { cwd: installed })
  assert.ok(pages.includes('README.md') && pages.includes('docs/configuration.md'))
  for (const page of pages)
    for (const [, target = ''] of readFileSync(join(installed, page), 'utf8').matchAll(/\]\((?!https?:)([^)#]+)/g))
      assert.ok(existsSync(join(installed, dirname(page), target)), `${page}: ${target}`)
})

test('a program compiles against the declarations, in strict mode and with no types but those of Node.js', async (context) => {
  const tools = join(folder, 'tools')
  const lacking = await tryNpmInstall(tools, ['typescript@5.9', '@types/node@22'])
  if (lacking) return context.skip(lacking)
  const compilerOptions = {
    target: 'es2022',
    module: 'nodenext',
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: false,
    noEmit: true,
    typeRoots: [join(tools, 'node_modules/@types')],
    types: ['node'],
  }
  writeFileSync(join(consumer, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }))
  const compile = () => inProcess(join(tools, 'node_modules/.bin/tsc'), ['-p', consumer])
  await compile().catch(({ stdout }: { stdout: string }) => assert.fail(stdout))
  // The types are not `any`.
  writeFileSync(
    join(consumer, 'wrong.ts'),
    `import { openHoldfast } from 'holdfast'\nexport const wrong: number = openHoldfast\n`,
  )
  await assert.rejects(compile(), ({ stdout }: { stdout: string }) =>
    stdout.includes("Promise<Holdfast>' is not assignable"),
  )
})

test('the examples of a tool and a provider run as they are', async () => {
  const env = { ...environmentOf(process.execPath), HOLDFAST_HOME: join(folder, 'examples') }
  const run = async (name: string) => (await inProcess(process.execPath, [`${name}.ts`], { cwd: consumer, env })).stdout
  assert.match(await run('define-tool'), /\S/)
  assert.equal(await run('define-provider'), 'NOTHING IS LOST \n')
})

// The Node.js of the tests, the oldest of `engines`, and the latest of that major version.
for (const version of ['24', '22.16.0', '22'])
  test(`on Node.js ${version} everything works and no warning is printed`, async (context) => {
    const node = version === '24' ? process.execPath : join(folder, version, 'node_modules/.bin/node')
    const lacking = version !== '24' && (await tryNpmInstall(join(folder, version), [`node@${version}`]))
    if (lacking) return context.skip(lacking)
    const environment = environmentOf(node)
    await context.test('holdfast --help', async () => {
      const { stdout, stderr } = await inProcess(command, ['--help'], { env: environment })
      assert.match(stdout, /^Usage: holdfast/)
      assert.equal(stderr, '')
    })
    await context.test('a chat through a pipe', async () => {
      const { stdout, stderr } = await chat('What time is it?\n', environment)
      assert.match(stdout, /It is \w+, \d+ \w+ \d+ at \d\d:\d\d:\d\d/)
      assert.equal(stderr, '')
    })
    await context.test('a server, with the official client', async () => {
      const { answer, stderr } = await askServer(environment)
      assert.match(answer, /assistant_message.*\d\d:\d\d/)
      assert.doesNotMatch(stderr, /Warning/)
    })
    await context.test('a program that embeds Holdfast', async () => {
      const env = { ...environment, HOLDFAST_HOME: join(environment.HOLDFAST_HOME, 'program') }
      const { stdout, stderr } = await inProcess(node, ['embed.mjs'], { cwd: consumer, env })
      assert.match(stdout, /^It is .*\nend_turn\n\d+ /ms)
      assert.equal(stderr, '')
    })
    await context.test('a program that uses require', async () => {
      const script = `console.log(typeof require('holdfast').openHoldfast)`
      const { stdout, stderr } = await inProcess(node, ['--input-type=commonjs', '-e', script], {
        cwd: consumer,
        env: environment,
      })
      assert.deepEqual({ stdout, stderr }, { stdout: 'function\n', stderr: '' })
    })
    await context.test('warnings of other features are still printed', async () => {
      const script = `import 'holdfast'; process.emitWarning('another feature', 'ExperimentalWarning')`
      const { stderr } = await inProcess(node, ['--input-type=module', '-e', script], {
        cwd: consumer,
        env: environment,
      })
      assert.match(stderr, /ExperimentalWarning: another feature/)
    })
  })

test('an older Node.js is refused with one sentence', async (context) => {
  const lacking = await tryNpmInstall(join(folder, '20'), ['node@20'])
  if (lacking) return context.skip(lacking)
  const node = join(folder, '20/node_modules/.bin/node')
  const env = environmentOf(node)
  for (const parameters of [['--help'], ['serve'], ['no-such-command']]) {
    const fault = await inProcess(command, parameters, { env }).then(
      () => assert.fail('it has started'),
      (error: { code: number; stdout: string; stderr: string }) => error,
    )
    assert.deepEqual([fault.code, fault.stdout], [1, ''])
    assert.match(fault.stderr.trimEnd(), OLD_NODE)
  }
  for (const name of ['holdfast', 'holdfast/ai-sdk']) {
    const script = `import('${name}').catch((error) => console.log(error.message))`
    const { stdout } = await inProcess(node, ['--input-type=module', '-e', script], { cwd: consumer, env })
    assert.match(stdout.trimEnd(), OLD_NODE)
  }
})

type Environment = { PATH: string; HOLDFAST_HOME: string; XDG_CACHE_HOME: string; HOLDFAST_API_KEY: string }

/** `holdfast` starts with the first `node` of its path. */
const environmentOf = (node: string): Environment => ({
  PATH: [dirname(node), process.env.PATH].join(delimiter),
  HOLDFAST_HOME: mkdtempSync(join(folder, 'home-')),
  XDG_CACHE_HOME: join(folder, 'cache'),
  HOLDFAST_API_KEY: KEY,
})

async function chat(input: string, env: Environment): Promise<{ stdout: string; stderr: string }> {
  const talk = inProcess(command, ['chat'], { env })
  talk.child.stdin!.end(input)
  return talk
}

/** Starts a server, sends a message to an agent and stops the server. */
async function askServer(env: Environment): Promise<{ answer: string; stderr: string }> {
  const server = spawn(command, ['serve', '--port', '0'], { env })
  let stderr = ''
  server.stderr.on('data', (text: Buffer) => {
    stderr += text.toString()
  })
  const ended = new Promise((resolve) => server.once('close', resolve))
  const answer = await askAgent(server, ended).finally(async () => {
    server.kill('SIGTERM')
    await ended
  })
  return { answer, stderr }
}

async function askAgent(server: ChildProcess, ended: Promise<unknown>): Promise<string> {
  const client = new Letta({ baseURL: await addressOf(server, ended), apiKey: KEY })
  const agent = await client.agents.create({ name: 'ada', model: 'scripted/friendly', tools: ['current_time'] })
  const { messages } = await client.agents.messages.create(agent.id, { input: 'What time is it?' })
  return JSON.stringify(messages)
}

function addressOf(server: ChildProcess, ended: Promise<unknown>): Promise<string> {
  let output = ''
  return new Promise((resolve, reject) => {
    ended.then(() => reject(new Error(`The server ended: ${output}`)))
    server.stdout!.on('data', (text: Buffer) => {
      output += text.toString()
      const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(output) ?? []
      if (url) resolve(url)
    })
  })
}
