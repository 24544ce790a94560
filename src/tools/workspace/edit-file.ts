import type { Tool } from '../../ports/tool.ts'
import type { EditedFile, FileEdit } from '../../ports/workspace-files.ts'
import type { Workspaces } from '../../ports/workspaces.ts'
import { defineTool, failure } from '../define-tool.ts'
import { askFiles } from './ask-files.ts'

type EditFileInput = {
  path: string
  old_string?: string
  new_string?: string
  replace_all?: boolean
  /** The names of earlier versions, which agents have in their histories. */
  find?: string
  replace?: string
  all?: boolean
  patch?: string
}

const DESCRIPTION = `Changes a part of a text file of your workspace, in one of two ways.
With "old_string" and "new_string": the old text must be in the file exactly as given, white space included, and only once, unless "replace_all" is true. "find", "replace" and "all" are other names for the three.
With "patch": a unified diff of this one file. Its hunks must fit exactly; line numbers may be off, but then the place must be the only one. All hunks are applied or none.
Line endings and encoding of the file stay as they are. Two edits of one file never mix.`

export const editFile = (workspaces: Workspaces): Tool =>
  defineTool<EditFileInput>({
    name: 'edit_file',
    description: DESCRIPTION,
    inputSchema: {
      type: 'object',
      properties: {
        path: { type: 'string', description: 'The file, relative to the workspace or absolute inside it.' },
        old_string: {
          type: 'string',
          minLength: 1,
          description: 'Text of the file, without the line numbers of read_file.',
        },
        new_string: { type: 'string', description: 'What comes in its place; empty to take it away.' },
        replace_all: { type: 'boolean', description: 'Replace every occurrence; false when left out.' },
        find: { type: 'string', minLength: 1, description: 'The same as old_string.' },
        replace: { type: 'string', description: 'The same as new_string.' },
        all: { type: 'boolean', description: 'The same as replace_all.' },
        patch: {
          type: 'string',
          minLength: 1,
          description:
            'Hunks of a unified diff: "@@ -3,2 +3,2 @@", then lines that begin with " " (stays), "-" (goes) or "+" (comes). Instead of old_string and new_string.',
        },
      },
      required: ['path'],
      additionalProperties: false,
    },
    // The workspace stores the idempotency key: a retry gets the first result.
    effects: 'idempotent',
    run: async (input, context) => {
      const edit = parseEdit(input)
      if (typeof edit === 'string') return failure(edit)
      return askFiles<EditedFile>(workspaces, context, {
        ask: (files) => files.edit(input.path, edit, context.idempotencyKey),
        describe: (edited) => describeEdit(input.path, edit, edited),
        isChange: true,
      })
    },
  })

/** The edit, or what is wrong with the input. */
function parseEdit(input: EditFileInput): FileEdit | string {
  const twice = NAMES.find(([name, other]) => input[name] !== undefined && input[other] !== undefined)
  if (twice) return `"${twice[0]}" and "${twice[1]}" are the same: give one of them. Nothing was changed.`
  const { patch, old_string: find = input.find, new_string: replace = input.replace } = input
  if (patch !== undefined) {
    if (find === undefined && replace === undefined) return { type: 'patch', patch }
    return 'Give either "old_string" and "new_string", or "patch", not both. Nothing was changed.'
  }
  if (find === undefined)
    return 'Say what to change: give "old_string" and "new_string", or "patch". Nothing was changed.'
  if (replace === undefined)
    return 'Say what comes in the place of "old_string": give "new_string", empty to take it away. Nothing was changed.'
  return { type: 'replace', find, replace, all: input.replace_all ?? input.all ?? false }
}

const NAMES = [
  ['old_string', 'find'],
  ['new_string', 'replace'],
  ['replace_all', 'all'],
] as const

function describeEdit(path: string, edit: FileEdit, { replacements, line }: EditedFile): string {
  const unit = edit.type === 'patch' ? 'hunk' : 'place'
  return `Changed ${path} in ${replacements} ${unit}${replacements === 1 ? '' : 's'}, the first at line ${line}.`
}
