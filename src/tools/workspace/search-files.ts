import { defined } from '../../core/defined.ts'
import type { Tool } from '../../ports/tool.ts'
import type { FileSearchResult } from '../../ports/workspace-files.ts'
import type { Workspaces } from '../../ports/workspaces.ts'
import { defineTool, failure } from '../define-tool.ts'
import { askFiles } from './ask-files.ts'

type SearchFilesInput = { pattern: string; path?: string; glob?: string; text?: boolean; ignore_case?: boolean }

const DESCRIPTION = `Finds lines in the files of your workspace and shows them as "path:line: text", by path.
The pattern is a regular expression as in ripgrep and is looked for in each line by itself; with "text" it is the very text. Left out are .git, node_modules, links, files that are not text and files over 4 MiB.`

export const searchFiles = (workspaces: Workspaces): Tool =>
  defineTool<SearchFilesInput>({
    name: 'search_files',
    description: DESCRIPTION,
    inputSchema: {
      type: 'object',
      properties: {
        pattern: { type: 'string', minLength: 1, description: 'What to look for in each line.' },
        path: { type: 'string', description: 'A folder or file to search; the whole workspace when left out.' },
        glob: {
          type: 'string',
          minLength: 1,
          description: 'Only files like this: "*.ts", "src/**/*.py", "*.{yml,yaml}"; with "!" in front, all but those.',
        },
        text: { type: 'boolean', description: 'The pattern is plain text, no expression; false when left out.' },
        ignore_case: { type: 'boolean', description: 'Capital and small letters are the same; false when left out.' },
      },
      required: ['pattern'],
      additionalProperties: false,
    },
    effects: 'none',
    parallel: true,
    run: async ({ pattern, path, glob, text, ignore_case }, context) => {
      const found = askFiles<FileSearchResult>(workspaces, context, {
        ask: (files) =>
          files.search({
            pattern,
            isText: text ?? false,
            ignoreCase: ignore_case ?? false,
            ...defined({ path, glob }),
          }),
        describe: formatMatches,
        isChange: false,
      })
      return unlessStopped(context.signal, found)
    },
  })

const CUT_NOTES: Record<NonNullable<FileSearchResult['cutBy']>, string> = {
  matches: 'there are more: narrow the pattern, or give a path or a glob',
  time: 'the time was over before everything was searched: give a path or a glob, or a simpler pattern',
}

function formatMatches({ matches, cutBy }: FileSearchResult): string {
  const lines = matches.map(({ path, line, text }) => `${formatPath(path)}:${line}: ${text}`)
  const note = cutBy && `[${CUT_NOTES[cutBy]}]`
  if (lines.length === 0) return note ? `Nothing was found so far. ${note}` : 'Nothing was found.'
  return [...lines, ...(note ? [note] : [])].join('\n')
}

/** A file name with a line break must not look like another match. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const formatPath = (path: string): string => (/[\x00-\x1f]/.test(path) ? JSON.stringify(path) : path)

/** A cancelled run does not wait for the search, which ends by its own timeout. */
async function unlessStopped<T>(signal: AbortSignal, work: Promise<T>) {
  const { promise, resolve } = Promise.withResolvers<ReturnType<typeof failure>>()
  const stop = () => resolve(failure('The search was stopped.'))
  signal.addEventListener('abort', stop)
  if (signal.aborted) stop()
  try {
    return await Promise.race([work, promise])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}
