import type { ConversationId, RunId } from '../core/id.ts'
import type { Json } from '../core/json.ts'
import type { ProcessOutput, ProcessState, Workspace } from '../ports/workspaces.ts'
import type { FileReply } from './file-protocol.ts'
import { newFilesClient } from './files-client.ts'
import type { SupervisorQuestion } from './protocol.ts'
import { parseOutput, parseProcess, parseProcesses } from './validate-answers.ts'

type AskSupervisor = (question: SupervisorQuestion, options?: { signal?: AbortSignal }) => Promise<Json>

/** The operations of a workspace, as questions to its supervisor. */
export function newWorkspace(conversationId: ConversationId, ask: AskSupervisor): Workspace {
  const state = async (question: SupervisorQuestion): Promise<ProcessState> => parseProcess(await ask(question))
  const findState = async (question: SupervisorQuestion): Promise<ProcessState | undefined> => {
    const answer = await ask(question)
    return answer === null ? undefined : parseProcess(answer)
  }

  return {
    conversationId,
    start: (request) => state({ type: 'start', wish: request }),
    startProgram: (request) => state({ type: 'start-program', wish: request }),
    processes: async () => parseProcesses(await ask({ type: 'processes' })),
    process: (processId) => findState({ type: 'process', processId }),
    findByKey: (key) => findState({ type: 'find-by-key', key }),
    async wait(processId, signal) {
      try {
        return parseProcess(await ask({ type: 'wait', processId }, { signal }))
      } catch (fault) {
        if (!signal.aborted) throw fault
        return state({ type: 'process', processId })
      }
    },
    output: async (processId, range, stream = 'output'): Promise<ProcessOutput> =>
      parseOutput(await ask({ type: 'output', processId, range, stream })),
    write: async (processId, { text, end = false }) => (await ask({ type: 'write', processId, text, end })) === true,
    detach: (processId) => state({ type: 'detach', processId }),
    kill: (processId, why) => state({ type: 'kill', processId, why }),
    async endProcessesOfRun(runId: RunId, why) {
      await ask({ type: 'end-of', runId, why })
    },
    files: newFilesClient(async (request) => (await ask({ type: 'file', request })) as unknown as FileReply),
  }
}
