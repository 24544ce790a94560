import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { realClock } from '../../src/config/real-clock.ts'
import type { TurnEvent } from '../../src/core/event.ts'
import type { RunId } from '../../src/core/id.ts'
import type { ToolOutcome } from '../../src/core/tool-call.ts'
import type { ModelRequest } from '../../src/ports/model.ts'
import type { Workspace, Workspaces } from '../../src/ports/workspaces.ts'
import { lastInput } from '../../src/providers/scripted/current-turn.ts'
import type { Script } from '../../src/providers/scripted/script.ts'
import { type WorkspaceToolDeps, workspaceTools } from '../../src/tools/workspace/workspace-tools.ts'
import { type HomeFixture, type HomeFixtureOptions, openHomeFixture } from '../harness/fixture-home.ts'
import { openWorkspacesFixture, until } from './fixture-workspaces.ts'

/** A tool call that the model is to make. */
export type Call = { tool: string; input: object; callId?: string }

/** A model that makes the calls given as JSON in the message, and then ends its turn. */
export function puppetScript({ messages }: Pick<ModelRequest, 'messages'>): Script {
  const input = lastInput(messages)
  if (!/^[[{]/.test(input)) return [{ text: 'Done.' }]
  const calls = [JSON.parse(input)].flat() as { tool: string; input: never }[]
  return [...calls.map((call) => ({ calls: [call] })), { text: 'Done.' }]
}

/** An agent with a workspace, in turns of the real engine. */
export type Turns = {
  fixture: HomeFixture
  workspaces: Workspaces
  /** One tool call after the other, in one turn; the last outcome is the answer. */
  call(...calls: Call[]): Promise<ToolOutcome>
  begin(...calls: Call[]): Promise<RunId>
  shell(command: string, more?: object): Promise<ToolOutcome>
  workspace(): Promise<Workspace>
}

type TurnsOptions = Omit<HomeFixtureOptions, 'script' | 'tools'> & Partial<WorkspaceToolDeps>

export async function openTurns(context: TestContext, options: TurnsOptions = {}): Promise<Turns> {
  const { containment = 'bubblewrap', longestWaitSeconds, ...others } = options
  const { workspaces } = openWorkspacesFixture(context, { sandbox: { containment } })
  const longest = longestWaitSeconds === undefined ? {} : { longestWaitSeconds }
  const tools = workspaceTools({ workspaces, containment, clock: realClock, ...longest })
  const fixture = await openHomeFixture(context, { ...others, tools, script: puppetScript })
  const begin = (...calls: Call[]) => fixture.send(JSON.stringify(calls))
  const turns: Turns = {
    fixture,
    workspaces,
    begin,
    async call(...calls) {
      const runId = await begin(...calls)
      const run = await fixture.wait(runId)
      assert.equal(run.stopReason, 'end_turn', JSON.stringify(await fixture.events(runId)))
      const last = outcomesIn(await fixture.events(runId)).at(-1)
      assert.ok(last)
      return last
    },
    shell: (command, more = {}) => turns.call({ tool: 'shell', input: { command, ...more } }),
    workspace: () => until(() => workspaces.find(fixture.conversationId)),
  }
  return turns
}

export const outcomesIn = (events: readonly TurnEvent[]): ToolOutcome[] =>
  events.flatMap((event) => (event.type === 'tool-ended' ? [event.outcome] : []))

/** The process id in an answer of `shell`. */
export const processIn = ({ output }: Pick<ToolOutcome, 'output'>): string => {
  const found = /\[process ([\w-]+):/.exec(output)?.[1]
  assert.ok(found, output)
  return found
}
