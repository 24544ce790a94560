import type { ConversationId } from '../../core/id.ts'
import { Problem, type ProblemKind } from '../../core/problem.ts'
import type { FileAnswer, FileFault, ListedFolder, WholeFile, WorkspaceFiles } from '../../ports/workspace-files.ts'
import { requireConversationAndAgent } from '../conversations/conversations.ts'
import type { ServiceContext } from '../service-context.ts'
import { noWorkspace, withWorkspaceProblems } from './workspaces.ts'

/** `wake`: start the sandbox if nothing runs in it. */
type FileRequest = { conversationId: ConversationId; path: string; wake: boolean }

/** What a folder of a workspace has. */
export const listFiles = (request: FileRequest, context: ServiceContext): Promise<ListedFolder> =>
  askFiles((files) => files.list(request.path), request, context)

/** The connection to a workspace carries a file in one piece. */
const MOST_CONTENT_BYTES = 4 * 1024 * 1024

/** All bytes of a file, up to a bound. */
export const readContent = (request: FileRequest, context: ServiceContext): Promise<WholeFile> =>
  askFiles((files) => files.load(request.path, MOST_CONTENT_BYTES), request, context)

async function askFiles<T>(
  ask: (files: WorkspaceFiles) => Promise<FileAnswer<T>>,
  { conversationId, wake }: FileRequest,
  context: ServiceContext,
): Promise<T> {
  await requireConversationAndAgent(conversationId, context)
  const { workspaces } = context
  const seen = await withWorkspaceProblems(workspaces.peek(conversationId))
  if (seen?.status === 'asleep' && !wake)
    throw new Problem(
      'conflict',
      `The workspace of ${conversationId} is asleep, and reading its files starts its sandbox. Ask again with wake=true to start it.`,
    )
  const workspace = seen && (await withWorkspaceProblems(workspaces.find(conversationId)))
  if (!workspace) throw noWorkspace(conversationId)
  const answer = await withWorkspaceProblems(ask(workspace.files))
  if (answer.type === 'fault') throw new Problem(KIND_OF_FAULT[answer.fault], answer.message)
  return answer
}

const KIND_OF_FAULT: Record<FileFault, ProblemKind> = {
  outside: 'invalid-argument',
  'bad-path': 'invalid-argument',
  missing: 'not-found',
  'not-a-file': 'invalid-argument',
  binary: 'invalid-argument',
  'too-large': 'too-large',
  'not-found-in-file': 'conflict',
  ambiguous: 'conflict',
  'bad-patch': 'invalid-argument',
  'bad-pattern': 'invalid-argument',
  refused: 'conflict',
}
