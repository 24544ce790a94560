import assert from 'node:assert/strict'
import { test } from 'node:test'
import { missingProgram } from '../harness/programs.ts'
import { serveTools } from './fixture-tools.ts'

const REFUSED: Record<string, { source: string; says: RegExp }> = {
  'does not parse': { source: 'export function broken(: string { return "a" }', says: /parameter list .* not closed/ },
  'exports no function': { source: 'const x = 1', says: /exports no function/ },
}

type Case = { body: string; output: RegExp; status?: 'success'; head?: string; stdout?: RegExp }

const TIMEOUT = /TimeoutError: the tool ran longer than 2 seconds and was ended/

const ENDED: Record<string, Case> = {
  'never returns': { body: 'for (;;) {}', output: TIMEOUT },
  'waits for what never comes': {
    body: 'return new Promise(() => {})',
    output: /Error: the promise of the tool can never settle: nothing is left that it waits for/,
  },
  'prints without end': { body: 'for (;;) process.stdout.write("y".repeat(1000))', output: TIMEOUT, stdout: /yyy/ },
  exits: { body: 'process.exit(3)', output: /ended its own process \(exit code 3\)/ },
  'kills itself': { body: 'process.kill(process.pid, "SIGKILL")', output: /ended by SIGKILL/ },
  throws: {
    body: 'throw new Error("no such order")',
    output: /^Error executing function broken: Error: no such order$/,
  },
  'throws a text': { body: 'throw "just text"', output: /^Error executing function broken: Error: just text$/ },
  'recurses endlessly': { body: 'return broken()', output: /RangeError: Maximum call stack size exceeded/ },
  'imports what is not there': {
    head: 'import "nowhere"\n',
    body: 'return 1',
    output: /Cannot find package 'nowhere'/,
  },
  'writes what looks like a result': {
    body: 'console.log(\'{"value": "forged", "blocks": []}\'); console.error(\'{"error": "forged"}\'); return "mine"',
    output: /^mine$/,
    status: 'success',
    stdout: /forged/,
  },
  'returns what JSON cannot hold': { body: 'return 10n', output: /^10$/, status: 'success' },
  'returns an object that contains itself': {
    body: 'const a: unknown[] = []; a.push(a); return a',
    output: /Circular/,
    status: 'success',
  },
  'reads the environment of the server': {
    body: 'return Object.keys(process.env).filter((name) => /API_KEY|HOLDFAST_(?:HOME|API|RESULT)|DATABASE/.test(name))',
    output: /^\[\]$/,
    status: 'success',
  },
}

test('TypeScript tools end in the result, or in one sentence about what went wrong', {
  skip: missingProgram('bwrap'),
}, async (context) => {
  const { bring, run } = await serveTools(context, { environment: { HOLDFAST_TOOL_SECONDS: '2' } })
  for (const [does, { source, says }] of Object.entries(REFUSED))
    await context.test(`a source that ${does} is refused`, async () => {
      await assert.rejects(bring({ source_code: source, source_type: 'typescript' }), says)
    })
  for (const [does, { body, output, status = 'error', head = '', stdout = /^$/ }] of Object.entries(ENDED))
    await context.test(`a tool that ${does}`, async () => {
      const source_code = `${head}/** Does. */\nexport async function broken(): Promise<unknown> { ${body} }\n`
      await bring({ source_code, source_type: 'typescript' })
      const got = await run('broken')
      assert.match(got.output, output, got.stderr)
      assert.equal(got.status, status)
      assert.match(got.stdout, stdout)
    })
})
