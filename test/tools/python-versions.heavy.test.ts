import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { globSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { realClock } from '../../src/config/real-clock.ts'
import { sha256 } from '../../src/config/sha256.ts'
import { DEFAULT_ORGANIZATION } from '../../src/core/id.ts'
import type { StoredTool } from '../../src/core/stored-tool.ts'
import { newSourceTools } from '../../src/tools/custom/source-tools.ts'
import { missingProgram } from '../harness/programs.ts'
import { newConversationId, newRunId, openWorkspacesFixture } from '../workspaces/fixture-workspaces.ts'
import { serveTools } from './fixture-tools.ts'

const skip = missingProgram('bwrap') || missingProgram('python3')

const ORDER = `
from pydantic import BaseModel

class Item(BaseModel):
    name: str
    count: int = 1

def order(item: Item, more: list[Item] = [], note: str = "") -> str:
    """Orders.

    Args:
        item: what
        more: what else
        note: for the shop
    """
    return ", ".join("%s %s x%d" % (type(one).__name__, one.name, one.count) for one in [item] + more) + note
`

const SHOP = `
def shop(order: dict) -> str:
    """Takes an order.

    Args:
        order (dict): the order
    """
    return "%s of %s" % (order.item.name, type(order).__name__) if hasattr(order, "item") else order["item"]["name"]
`

/** As if pydantic were not installed. */
const WITHOUT = 'import sys\nsys.modules["pydantic"] = None\n'

const SHOP_SCHEMA = {
  type: 'object',
  properties: {
    order: {
      type: 'object',
      properties: { item: { type: 'object', properties: { name: { type: 'string' } } } },
    },
  },
}

test('arguments become the pydantic models of the annotations, and a wrong one is refused with its field', {
  skip: skip || missingProgram('pydantic'),
}, async (context) => {
  const { bring, run } = await serveTools(context)
  const item = { type: 'object', properties: { name: { type: 'string' }, count: { type: 'integer' } } }
  const parameters = {
    type: 'object',
    properties: { item, more: { type: 'array', items: item }, note: { type: 'string' } },
    required: ['item'],
  }
  await bring({ source_code: ORDER, json_schema: { name: 'order', description: 'Orders.', parameters } })
  const tea = { name: 'tea', count: 2 }
  assert.deepEqual(
    (await run('order', { item: tea, more: [{ name: 'cup' }], note: '!' })).output,
    'Item tea x2, Item cup x1!',
  )
  const wrong = await run('order', { item: { count: 2 } })
  assert.equal(wrong.status, 'error')
  assert.match(wrong.output, /^Error executing function order: ValidationError: .*name/s)

  await bring({ source_code: SHOP, args_json_schema: SHOP_SCHEMA })
  assert.equal((await run('shop', { order: { item: { name: 'tea' } } })).output, 'tea of order')
})

test('without pydantic, arguments are dictionaries, and a tool that imports it says what is missing', {
  skip,
}, async (context) => {
  const { bring, run } = await serveTools(context)
  await bring({ source_code: `${WITHOUT}${SHOP}`, args_json_schema: SHOP_SCHEMA })
  const plain = await run('shop', { order: { item: { name: 'tea' } } })
  assert.deepEqual([plain.status, plain.output], ['success', 'tea'])
  const schema = { name: 'order', description: 'Orders.', parameters: { type: 'object', properties: {} } }
  await bring({ source_code: `${WITHOUT}${ORDER}`, json_schema: schema })
  const missing = await run('order')
  assert.equal(missing.status, 'error')
  assert.match(missing.output, /^Error executing function order: (ModuleNotFound|Import)Error: .*pydantic/)
})

const HELLO = 'def hello():\n    return "hello"\n'

/** Runs a tool with this Python, in a real workspace without a sandbox, which sees every program of the machine. */
async function callWith(context: TestContext, python: string) {
  const { workspaces } = openWorkspacesFixture(context, { sandbox: { containment: 'local' } })
  const sources = newSourceTools({
    workspaces: { ...workspaces, openEgress: async () => ({}) },
    containment: 'local',
    clock: realClock,
    digest: sha256,
    packages: { of: async () => undefined } as never,
    agentOf: async () => undefined,
    secretsOf: async () => ({}),
    blocksOf: async () => [],
    timeoutSeconds: 60,
    python,
  })
  const stored = {
    id: `tool-${randomUUID()}`,
    organizationId: DEFAULT_ORGANIZATION,
    name: 'hello',
    sourceType: 'python',
    sourceCode: HELLO,
    jsonSchema: {},
    wire: {},
  } as unknown as StoredTool
  return sources.toTool(stored).run({}, {
    signal: AbortSignal.timeout(60_000),
    idempotencyKey: randomUUID(),
    progress: () => undefined,
    conversationId: newConversationId(),
    agentId: `agent-${randomUUID()}`,
    runId: newRunId(),
    organizationId: DEFAULT_ORGANIZATION,
  } as never)
}

test('without Python, a tool says which program is missing and who can install it', async (context) => {
  const { status, output } = await callWith(context, '/usr/bin/python3-that-is-not-here')
  assert.equal(status, 'error')
  assert.match(
    output,
    /hello did not run: There is no \/usr\/bin\/python3-that-is-not-here here.*install the package python3/,
  )
})

/** Interpreters before 3.9 on this machine, by version. */
function oldPythons(): Map<string, string> {
  const folders = [...(process.env.PATH ?? '').split(':'), ...globSync(join(homedir(), '.pyenv/versions/*/bin'))]
  const found = new Map<string, string>()
  for (const file of folders.flatMap((folder) => globSync(join(folder, 'python3.{4,5,6,7,8}')))) {
    const { status, stdout } = spawnSync(file, ['-c', 'import sys; print("%d.%d.%d" % sys.version_info[:3])'], {
      encoding: 'utf8',
    })
    if (status === 0) found.set(stdout.trim(), file)
  }
  return found
}

const olds = oldPythons()

test('a Python that is too old says so, and which one is needed', {
  skip: olds.size > 0 ? false : 'no Python before 3.9: for example pyenv install 3.8',
}, async (context) => {
  for (const [version, file] of olds) {
    const { status, output } = await callWith(context, file)
    assert.deepEqual(
      [status, output],
      ['error', `Error executing function hello: Tools need Python 3.9 or newer; this is Python ${version}.`],
    )
  }
})
