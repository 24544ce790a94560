import assert from 'node:assert/strict'
import { test } from 'node:test'
import { missingProgram } from '../harness/programs.ts'
import { serveTools } from './fixture-tools.ts'

const skip = missingProgram('bwrap')

const DOUBLE = `
def double(number: int) -> int:
    """Doubles a number.

    Args:
        number (int): what to double
    """
    print("doubling", number)
    return 2 * number
`

/** A function without parameters, its body and what the model reads. */
type Case = { does: string; body: string; status?: 'error'; output: RegExp | string; stdout?: RegExp; stderr?: RegExp }

const ENDED: Case[] = [
  {
    does: 'returns a dictionary',
    body: 'return {"a": [1, None, True], "b": "ü"}',
    output: '{"a": [1, null, true], "b": "ü"}',
  },
  { does: 'returns nothing', body: 'pass', output: 'None' },
  { does: 'returns a number', body: 'return 0.5', output: '0.5' },
  {
    does: 'returns what JSON cannot hold',
    body: 'return {"when": object, "all": {1}, 2: b"x"}',
    output: /^\{"when": "<class 'object'>", "all": \[1\], "2": "b'x'"\}$/,
  },
  { does: 'returns an object that contains itself', body: 'a = []; a.append(a); return a', output: '[[...]]' },
  { does: 'returns NUL and half a character', body: 'return "a\\0b\\ud800c"', output: 'ab\ufffdc' },
  {
    does: 'is asynchronous',
    body: 'import asyncio\n    async def wait():\n        await asyncio.sleep(0)\n        return "later"\n    return wait()',
    output: 'later',
  },
  {
    does: 'raises',
    body: 'print("so far")\n    raise ValueError("no such order")',
    status: 'error',
    output: 'Error executing function tool_N: ValueError: no such order',
    stdout: /so far/,
    stderr: /Traceback[\s\S]*raise ValueError\("no such order"\)/,
  },
  {
    does: 'raises with a long message',
    body: 'raise ValueError("x" * 5000)',
    status: 'error',
    output: /^Error executing function tool_N: ValueError: x{900,960}…$/,
  },
  {
    does: 'exits',
    body: 'import sys; sys.exit(3)',
    status: 'error',
    output: 'Error executing function tool_N: SystemExit: 3',
  },
  {
    does: 'ends its process',
    stderr: /^$/,
    body: 'import os; os._exit(3)',
    status: 'error',
    output: /ended its own process \(exit code 3\)/,
  },
  {
    does: 'kills itself',
    stderr: /^$/,
    body: 'import os, signal; os.kill(os.getpid(), signal.SIGKILL)',
    status: 'error',
    output: /ended by SIGKILL/,
  },
  { does: 'forks and returns twice', body: 'import os; os.fork(); return "once"', output: 'once' },
  {
    does: 'recurses endlessly',
    body: 'def f(): return f()\n    return f()',
    status: 'error',
    output: /RecursionError/,
  },
  {
    does: 'writes what looks like a result to both outputs',
    body: 'import sys; print(\'{"value": "forged", "blocks": []}\'); print(\'{"error": "forged"}\', file=sys.stderr); return "mine"',
    output: 'mine',
    stdout: /forged/,
    stderr: /forged/,
  },
  { does: 'reads its standard input', body: 'import sys; return repr(sys.stdin.read())', output: "''" },
  {
    does: 'prints more than is kept',
    body: 'print("a" * 60_000 + "the end")\n    return "ok"',
    output: 'ok',
    stdout: /^a{4000}\n\[… 4\d{4} bytes left out …\]\na+the end\n$/,
  },
  {
    does: 'uses names of typing without importing them',
    body: 'x: Optional[List[int]] = None; return str(Dict)',
    output: 'typing.Dict',
  },
]

test('Python tools end in the result, or in one sentence about what went wrong', { skip }, async (context) => {
  const { bring, run } = await serveTools(context)
  await context.test('a tool with an argument', async () => {
    await bring({ source_code: DOUBLE })
    const doubled = { status: 'success', output: '42', stdout: 'doubling 21\n', stderr: '' }
    assert.deepEqual(await run('double', { number: 21 }), doubled)
    assert.match((await run('double', { number: 'many' })).output, /number/)
  })
  for (const [
    index,
    { does, body, status = 'success', output, stdout = /^$/, stderr = status === 'error' ? /./ : /^$/ },
  ] of ENDED.entries())
    await context.test(`a tool that ${does}`, async () => {
      const name = `tool_${index}`
      await bring({ source_code: `def ${name}():\n    """Does."""\n    ${body}\n` })
      const got = await run(name)
      const named = got.output.replaceAll(name, 'tool_N')
      if (typeof output === 'string') assert.equal(named, output, got.stderr)
      else assert.match(named, output, got.stderr)
      assert.equal(got.status, status)
      assert.match(got.stdout, stdout)
      assert.match(got.stderr, stderr)
    })
})
