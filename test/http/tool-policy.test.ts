import assert from 'node:assert/strict'
import { test } from 'node:test'
import { scriptOf } from '../../src/providers/scripted/script.ts'
import { success } from '../../src/tools/define-tool.ts'
import { tool } from '../harness/tools.ts'
import { serveKeyed } from './fixture-keyed-server.ts'

// What an agent may call is decided outside of the model, by exact names.

const ITS_TOOLS = ['send', 'look']
const ALL_TOOLS = [...ITS_TOOLS, 'send_all', 'sen', 'look_up', 'delete_all', 'Send']
const CALLED = [...ALL_TOOLS, 'SEND', 'send ', ' send', 'send\u200b', 'constructor', '__proto__', 'toString', '*', '']

test('a model calls the tools of its agent by their exact names, and no other, whatever names it writes', async (context) => {
  const ran: string[] = []
  const server = await serveKeyed(context, {
    tools: ALL_TOOLS.map((name) =>
      tool(name, () => {
        ran.push(name)
        return success('done')
      }),
    ),
    script: () =>
      scriptOf(
        { calls: CALLED.map((name, index) => ({ tool: name, input: {}, callId: `call-${index}` })) },
        { text: 'done' },
      ),
  })
  const made = await server.as()('POST', '/v1/agents', { name: 'few', model: 'test/model', tools: ITS_TOOLS })
  const { id } = made.body as { id: string }
  const { status } = await server.as()('POST', `/v1/agents/${id}/messages`, { input: 'go' })
  assert.equal(status, 200)
  assert.deepEqual(ran.toSorted(), ITS_TOOLS.toSorted())
  for (const name of ALL_TOOLS.filter((one) => !ITS_TOOLS.includes(one))) {
    const byHand = await server.as()('POST', `/v1/agents/${id}/tools/${name}/run`, { args: {} })
    assert.ok(byHand.status >= 400 && byHand.status < 500, `${name}: ${byHand.status}`)
  }
  assert.deepEqual(ran.toSorted(), ITS_TOOLS.toSorted())
})
