import { defined } from '../../core/defined.ts'
import type { Tool } from '../../ports/tool.ts'
import type { ReadFile } from '../../ports/workspace-files.ts'
import type { Workspaces } from '../../ports/workspaces.ts'
import { defineTool } from '../define-tool.ts'
import { askFiles } from './ask-files.ts'

type ReadFileInput = { path: string; from_line?: number; lines?: number }

const DESCRIPTION = `Reads a text file of your workspace and shows its lines with their numbers, which are not part of the file.
Long files come in parts: the answer says how to read on. For a folder it lists what is in it. Files that are not text (UTF-8, or UTF-16 with a byte order mark) are refused with their kind and size.`

export const readFile = (workspaces: Workspaces): Tool =>
  defineTool<ReadFileInput>({
    name: 'read_file',
    description: DESCRIPTION,
    inputSchema: {
      type: 'object',
      properties: {
        path: { type: 'string', description: 'The file, relative to the workspace or absolute inside it.' },
        from_line: { type: 'integer', minimum: 1, description: 'The first line to show; 1 when left out.' },
        lines: {
          type: 'integer',
          minimum: 1,
          maximum: 5_000,
          description: 'How many lines to show at most; 2000 when left out.',
        },
      },
      required: ['path'],
      additionalProperties: false,
    },
    effects: 'none',
    parallel: true,
    // Larger than one answer of the workspace with line numbers.
    outputLimit: 120_000,
    run: ({ path, from_line, lines }, context) =>
      askFiles<ReadFile>(workspaces, context, {
        ask: (files) => files.read(path, defined({ from: from_line, count: lines })),
        describe: (file) => formatFile(path, file),
        isChange: false,
      }),
  })

const ENDING_NOTES: Record<ReadFile['lineEnding'], string> = {
  lf: '',
  crlf: 'lines end in CRLF, which edits keep',
  mixed: 'some lines end in CRLF and some in LF, which edits keep',
}

function formatFile(path: string, file: ReadFile): string {
  if (file.totalLines === 0) return `[${path} is empty]`
  if (file.lines === 0) return `[${path} has only ${file.totalLines} lines]`
  const last = file.from + file.lines - 1
  const width = String(last).length
  const numbered = file.text.split('\n').map((line, index) => `${String(file.from + index).padStart(width)}\t${line}`)
  const isEnd = last >= file.totalLines
  const notes = [
    isEnd ? '' : `lines ${file.from} to ${last} of ${file.totalLines}; read on with from_line ${last + 1}`,
    isEnd && !file.isTerminated ? 'the last line has no line ending' : '',
    ENDING_NOTES[file.lineEnding],
  ].filter((note) => note !== '')
  return [...numbered, ...(notes.length > 0 ? [`[${notes.join('; ')}]`] : [])].join('\n')
}
