import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { unmetRequirements } from '../../src/core/python-requirements.ts'
import { addPackages, findPackages, removePackages } from '../../src/service/tools/tool-packages.ts'
import { holdfast } from '../cli/holdfast.ts'
import { missingProgram } from '../harness/programs.ts'
import { serveTools } from './fixture-tools.ts'

const skip = missingProgram('bwrap') || missingProgram('python3')

/** Writes wheels with one module each; `needs` are requirements of the last one. */
const MAKE_WHEELS = `
import sys, zipfile
folder, wheels = sys.argv[1], [one.split("=") for one in sys.argv[2:]]
for name, version, text, *needs in wheels:
    info = name + "-" + version + ".dist-info"
    with zipfile.ZipFile(folder + "/" + name + "-" + version + "-py3-none-any.whl", "w") as wheel:
        wheel.writestr(name + ".py", "def say():\\n    return %r\\n" % text)
        wheel.writestr(info + "/METADATA", "Metadata-Version: 2.1\\nName: %s\\nVersion: %s\\n%s" % (name, version, "".join("Requires-Dist: %s\\n" % one for one in needs)))
        wheel.writestr(info + "/WHEEL", "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr(info + "/RECORD", "")
`

/** A package index on loopback, as pip reads it. */
async function serveIndex(context: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-wheels-'))
  context.after(() => rmSync(folder, { recursive: true }))
  execFileSync('/usr/bin/python3', [
    '-c',
    MAKE_WHEELS,
    folder,
    'tea_words=1.0=tea',
    'tea_words=2.0=more tea',
    'cup_words=1.0=cup=tea_words',
  ])
  const server = createServer((request, response) => {
    const [, , name = ''] = (request.url ?? '').split('/')
    if (name.endsWith('.whl')) return void response.end(readFileSync(join(folder, name)))
    const wanted = name.replaceAll('-', '_')
    const files = readdirSync(folder).filter((file) => file.startsWith(`${wanted}-`))
    if (files.length === 0) return void response.writeHead(404).end()
    response.setHeader('content-type', 'text/html')
    response.end(files.map((file) => `<a href="/simple/${file}">${file}</a>`).join('\n'))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  context.after(() => server.close())
  return { folder, index: `http://127.0.0.1:${(server.address() as AddressInfo).port}/simple` }
}

test('packages that an operator adds are locked, read-only in the sandbox, and matched with what tools need', {
  skip,
}, async (context) => {
  const { folder, index } = await serveIndex(context)
  const { app, home, bring, run } = await serveTools(context)
  const use = (requirements: object[]) =>
    bring({
      source_code: `def use():\n    """Uses."""\n    import cup_words, tea_words\n    try:\n        open(tea_words.__file__, "a")\n    except OSError as error:\n        return [cup_words.say(), tea_words.say(), error.strerror]\n`,
      pip_requirements: requirements as never,
    })
  await use([{ name: 'cup-words' }])
  // The sandbox of the conversation is open before anything is installed.
  assert.match((await run('use')).output, /did not run: it needs Python packages .*: cup-words\. .*tools env add/)

  const { stdout } = await holdfast(['tools', 'env', 'add', 'cup-words', 'tea-words==1.0', '--index', index], {
    home,
  })
  assert.match(stdout, /cup_words +1\.0[\s\S]*tea_words +1\.0/)
  assert.deepEqual(JSON.parse((await run('use')).output), ['cup', 'tea', 'Read-only file system'])

  await use([{ name: 'tea_words', version: '>=2' }])
  assert.match((await run('use')).output, /tea_words>=2 \(1\.0 is installed\)/)
  const { context: service } = app
  await addPackages({ names: ['tea-words'], findLinks: folder, index }, service)
  assert.match((await run('use')).output, /more tea/)
  const set = await findPackages(service)
  assert.deepEqual(set?.requirements, ['cup-words', 'tea-words'])
  for (const { sha256 } of set?.packages ?? []) assert.match(sha256 ?? '', /^[0-9a-f]{64}$/)

  await assert.rejects(
    addPackages({ names: ['no-such-thing'], index }, service),
    /Nothing was changed\. pip says: .*no-such-thing/,
  )
  await assert.rejects(addPackages({ names: ['--index-url=http://x'], index }, service), /is not a package/)
  await assert.rejects(removePackages({ names: ['other'], index }, service), /None of these packages was added: other/)
  assert.deepEqual(await findPackages(service), set)
  assert.deepEqual((await removePackages({ names: ['cup-words'], index }, service)).requirements, ['tea-words'])
  assert.equal(
    await findPackages({ ...service, organizationId: 'org-00000000-0000-4000-8000-000000000009' }),
    undefined,
  )
})

test('requirements are compared by name and version', () => {
  const set = {
    id: 'a',
    python: '3.11',
    requirements: [],
    createdAt: 0,
    packages: [{ name: 'Py_Yaml', version: '6.0.2' }],
  }
  const unmet = (version?: string) => unmetRequirements([{ name: 'py-yaml', version: version ?? null }], set)
  for (const version of [undefined, '6.0.2', '==6.0.2', '>=5,<7', '~=6.0.1', '!=6.0.1', '> 6'])
    assert.deepEqual(unmet(version), [], version)
  for (const version of ['6.0.1', '<6', '>6.0.2', '~=6.1.0', '>=6,<6.0.2'])
    assert.equal(unmet(version).length, 1, version)
  assert.deepEqual(unmetRequirements([{ name: 'a' }, 'b', null, { version: '1' }], undefined), ['a'])
})
