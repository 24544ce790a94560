import type { ConversationId, RunId } from '../core/id.ts'
import type { Json } from '../core/json.ts'
import type { ProcessOutput, ProcessState, Workspace } from '../ports/workspaces.ts'
import type { FileReply } from './file-protocol.ts'
import { filesOver } from './files-client.ts'
import type { Question } from './protocol.ts'
import { outputFrom, processesFrom, processFrom } from './trusted-form.ts'

type Ask = (question: Question, options?: { signal?: AbortSignal }) => Promise<Json>

/** The verbs of a workspace, asked of whoever keeps it. */
export function newWorkspace(conversationId: ConversationId, ask: Ask): Workspace {
  const state = async (question: Question): Promise<ProcessState> => processFrom(await ask(question))
  const maybe = async (question: Question): Promise<ProcessState | undefined> => {
    const answer = await ask(question)
    return answer === null ? undefined : processFrom(answer)
  }

  return {
    conversationId,
    start: (wish) => state({ type: 'start', wish }),
    processes: async () => processesFrom(await ask({ type: 'processes' })),
    process: (processId) => maybe({ type: 'process', processId }),
    findByKey: (key) => maybe({ type: 'find-by-key', key }),
    async wait(processId, signal) {
      try {
        return processFrom(await ask({ type: 'wait', processId }, { signal }))
      } catch (fault) {
        if (!signal.aborted) throw fault
        return state({ type: 'process', processId })
      }
    },
    output: async (processId, range): Promise<ProcessOutput> =>
      outputFrom(await ask({ type: 'output', processId, range })),
    write: async (processId, { text, end = false }) => (await ask({ type: 'write', processId, text, end })) === true,
    detach: (processId) => state({ type: 'detach', processId }),
    kill: (processId, why) => state({ type: 'kill', processId, why }),
    async endOf(runId: RunId, why) {
      await ask({ type: 'end-of', runId, why })
    },
    files: filesOver(async (request) => (await ask({ type: 'file', request })) as unknown as FileReply),
  }
}
