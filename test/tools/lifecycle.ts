import assert from 'node:assert/strict'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { missingProgram } from '../harness/programs.ts'
import { MODEL, openServer, type Server } from '../http/fixture-server-process.ts'
import { until } from '../workspaces/fixture-workspaces.ts'
import { killSupervisor } from '../workspaces/kill-supervisor.ts'
import type { ToolBody } from './fixture-tools.ts'

/** The same tools in each language. */
type Sources = { greet: ToolBody; slow: ToolBody; again: ToolBody & { effects: string }; needy: ToolBody }

const PYTHON: Sources = {
  greet: {
    source_code: `
import os

def greet(name: str, times: int = 1) -> dict:
    """Greets.

    Args:
        name (str): who
        times (int): how often
    """
    return {"greeting": ("Hello " + name + "! ") * times, "by": os.environ["LETTA_AGENT_ID"], "token": os.environ["TOKEN"]}
`,
  },
  slow: {
    source_code: `
def slow():
    """Waits."""
    import os, subprocess, time
    subprocess.Popen(["sleep", "600"], start_new_session=True)
    with open("runs", "a") as file:
        file.write("x")
    while not os.path.exists("go"):
        time.sleep(0.02)
    return "went"
`,
  },
  again: {
    effects: 'idempotent',
    source_code: `
def again():
    """Waits."""
    import os, time
    with open("keys", "a") as file:
        file.write(os.environ["HOLDFAST_CALL_ID"] + "\\n")
    while not os.path.exists("go"):
        time.sleep(0.02)
    return "went"
`,
  },
  needy: {
    source_code: 'import geopandas\n\ndef needy():\n    """Maps."""\n    return "mapped"\n',
    pip_requirements: [{ name: 'geopandas', version: '1.0.1' }, { name: 'requests' }],
  },
}

const TYPESCRIPT: Sources = {
  greet: {
    source_type: 'typescript',
    source_code: `
enum Tone { Kind = 'Hello' }
/** Greets. */
export async function greet(name: string, times: number = 1): Promise<object> {
  return { greeting: (Tone.Kind + ' ' + name + '! ').repeat(times), by: process.env.LETTA_AGENT_ID, token: process.env.TOKEN }
}
`,
  },
  slow: {
    source_type: 'typescript',
    source_code: `
import { spawn } from 'node:child_process'
import { appendFileSync, existsSync } from 'node:fs'
/** Waits. */
export async function slow(): Promise<string> {
  spawn('sleep', ['600'], { detached: true, stdio: 'ignore' })
  appendFileSync('runs', 'x')
  while (!existsSync('go')) await new Promise((resolve) => setTimeout(resolve, 20))
  return 'went'
}
`,
  },
  again: {
    source_type: 'typescript',
    effects: 'idempotent',
    source_code: `
import { appendFileSync, existsSync } from 'node:fs'
/** Waits. */
export async function again(): Promise<string> {
  appendFileSync('keys', process.env.HOLDFAST_CALL_ID + '\\n')
  while (!existsSync('go')) await new Promise((resolve) => setTimeout(resolve, 20))
  return 'went'
}
`,
  },
  needy: {
    source_type: 'typescript',
    source_code: 'export function needy(): string { return "mapped" }',
    npm_requirements: [{ name: 'left-pad' }],
  },
}

const LANGUAGES = { Python: PYTHON, TypeScript: TYPESCRIPT }

/** Promises about tools from source, with a server process that is killed and the official client. */
export function testLifecycle(
  database: string,
  languages: readonly (keyof typeof LANGUAGES)[],
  environment: Record<string, string> = {},
): void {
  for (const language of languages)
    test(`${language} tools on ${database}: brought, called, cancelled, and killed with the server in mid-call`, {
      skip: missingProgram('bwrap'),
    }, async (context) => {
      const fixture = await openTools(context, LANGUAGES[language], environment)
      await context.test('the result, the arguments and the secrets', async () => {
        const { tool_return, status } = await fixture.returned(await fixture.begin('greet', { name: 'Ada', times: 2 }))
        assert.equal(status, 'success', tool_return)
        assert.deepEqual(JSON.parse(tool_return), {
          greeting: 'Hello Ada! Hello Ada! ',
          by: fixture.agentId,
          token: 'a secret',
        })
      })
      await context.test('missing packages are named', async () => {
        const { tool_return, status } = await fixture.returned(await fixture.begin('needy', {}))
        assert.equal(status, 'error')
        assert.match(tool_return, language === 'Python' ? /geopandas==1\.0\.1, requests\..*tools env add/ : /left-pad/)
      })
      await context.test('a call that runs while the server dies is not repeated, and its result arrives', async () => {
        const { server } = fixture
        const run = await fixture.begin('slow', {})
        await until(() => fixture.read('runs') === 'x')
        await server.kill()
        writeFileSync(join(fixture.files(), 'go'), '')
        await server.start()
        assert.equal((await fixture.returned(run)).tool_return, 'went')
        assert.equal(fixture.read('runs'), 'x')
      })
      await context.test(
        'if the sandbox dies too, a repeatable call runs again, and the outcome of another is unknown',
        async () => {
          const { server } = fixture
          fixture.remove('go', 'runs')
          for (const [tool, file] of [
            ['again', 'keys'],
            ['slow', 'runs'],
          ] as const) {
            const run = await fixture.begin(tool, {})
            await until(() => fixture.read(file))
            await server.kill()
            await killSupervisor(fixture.folder())
            writeFileSync(join(fixture.files(), 'go'), '')
            await server.start()
            const { tool_return } = await fixture.returned(run)
            assert.match(tool_return, tool === 'again' ? /^went$/ : /may or may not have taken effect/)
            fixture.remove('go')
          }
          const [first, second, ...others] = fixture.read('keys')!.trim().split('\n')
          assert.deepEqual([second, others], [first, []])
          assert.equal(fixture.read('runs'), 'x')
        },
      )
      await context.test('a cancel ends the tool and all that it started', async () => {
        fixture.remove('go', 'runs')
        const run = await fixture.begin('slow', {})
        await until(() => fixture.read('runs') === 'x')
        await fixture.server.client.agents.messages.cancel(fixture.agentId, { run_ids: [run] })
        const { tool_return } = await fixture.returned(run, 'cancelled')
        assert.match(tool_return, /slow was ended because the run was cancelled/)
        await until(async () => (await fixture.processes()) === 0)
      })
    })
}

async function openTools(context: TestContext, sources: Sources, environment: Record<string, string>) {
  const server = await openServer(environment)
  const { client, simulator, home } = server
  const agent = await client.agents.create({
    name: 'maker',
    model: MODEL,
    include_base_tools: false,
    secrets: { TOKEN: 'a secret' },
  })
  context.after(async () => {
    // Ends what runs in its workspace.
    await client.agents.delete(agent.id)
    await server.close()
  })
  for (const body of Object.values(sources)) {
    const tool = await client.tools.upsert(body)
    await client.agents.tools.attach(tool.id, { agent_id: agent.id })
  }
  const folder = () => {
    const [id] = readdirSync(join(home, 'workspaces')).filter((name) => name.startsWith('conv-'))
    return id === undefined ? undefined : join(home, 'workspaces', id)
  }
  let calls = 0
  return {
    server: server as Server,
    agentId: agent.id,
    folder: () => folder()!,
    files: () => join(folder()!, 'files'),
    remove(...names: string[]): void {
      for (const name of names) rmSync(join(folder()!, 'files', name), { force: true })
    },
    read(name: string): string | undefined {
      try {
        return readFileSync(join(folder() ?? '/nowhere', 'files', name), 'utf8')
      } catch {
        return undefined
      }
    },
    async begin(name: string, args: object): Promise<string> {
      const input = `please ${++calls}`
      simulator.script(
        { when: { lastContains: input }, answer: { calls: [{ id: `call-${calls}`, name, arguments: args as never }] } },
        { answer: { text: 'Done.' } },
      )
      return (await client.agents.messages.createAsync(agent.id, { input })).id
    },
    async returned(run: string, status = 'completed') {
      await until(async () => (await client.runs.retrieve(run)).status === status)
      const messages = (await client.runs.messages.list(run)).getPaginatedItems()
      const found = messages.find((message) => message.message_type === 'tool_return_message')
      assert.ok(found, JSON.stringify(messages))
      return found as unknown as { tool_return: string; status: string }
    },
    /** How many processes run in the workspace. */
    async processes(): Promise<number> {
      const response = await server.fetch('/v1/workspaces')
      const [workspace] = (await response.json()) as { usage: { processes: number } }[]
      return workspace!.usage.processes
    },
  }
}
