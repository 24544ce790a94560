import assert from 'node:assert/strict'
import { test } from 'node:test'
import { missingProgram } from '../harness/programs.ts'
import { serveTools } from './fixture-tools.ts'

test('run_code runs Python, JavaScript and TypeScript, with the result of the retired server', {
  skip: missingProgram('bwrap'),
}, async (context) => {
  const { client, agentId, run } = await serveTools(context, { secrets: { HIDDEN: 'canary' } })
  await client.agents.update(agentId, { tools: ['run_code'] } as object)
  const code = async (language: string, text: string) =>
    JSON.parse((await run('run_code', { language, code: text })).output)
  const logs = (stdout: string[] = [], stderr: string[] = []) => ({ stdout, stderr })
  assert.deepEqual(await code('python', 'x = 20\nprint("hi")\nx + 1'), { results: ['21'], logs: logs(['hi\n']) })
  assert.deepEqual(await code('python', 'import os\nos.environ.get("HIDDEN")'), { results: [], logs: logs() })
  assert.deepEqual(await code('js', 'console.log("hi"); [1, 2].map((one) => one * 2)'), {
    results: ['[2,4]'],
    logs: logs(['hi\n']),
  })
  assert.deepEqual(await code('ts', 'const one: number = 1; await 0; console.log(one)'), {
    results: [],
    logs: logs(['1\n']),
  })
  const failed = await code('python', '1 / 0')
  assert.equal(failed.error, 'ZeroDivisionError: division by zero')
  assert.match(failed.logs.stderr[0], /Traceback/)
  assert.match((await run('run_code', { language: 'r', code: '1' })).output, /run_code has no r here/)
})
