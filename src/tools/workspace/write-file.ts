import type { Tool } from '../../ports/tool.ts'
import type { WrittenFile } from '../../ports/workspace-files.ts'
import type { Workspaces } from '../../ports/workspaces.ts'
import { defineTool } from '../define-tool.ts'
import { askFiles } from './ask-files.ts'

type WriteFileInput = { path: string; content: string }

export const writeFile = (workspaces: Workspaces): Tool =>
  defineTool<WriteFileInput>({
    name: 'write_file',
    description:
      'Writes a text file of your workspace, as UTF-8, and makes the folders on the way to it. A file that is there already is replaced as a whole: to change a part of it use edit_file. If it cannot be written, the old content stays.',
    inputSchema: {
      type: 'object',
      properties: {
        path: { type: 'string', description: 'The file, relative to the workspace or absolute inside it.' },
        content: {
          type: 'string',
          description: 'All of the new content, with a line break at its end for most files.',
        },
      },
      required: ['path', 'content'],
      additionalProperties: false,
    },
    effects: 'idempotent',
    run: ({ path, content }, context) =>
      askFiles<WrittenFile>(workspaces, context, {
        ask: (files) => files.write(path, content, context.idempotencyKey),
        describe: ({ bytes, isNew }) =>
          isNew ? `Made ${path} with ${bytes} bytes.` : `Replaced the content of ${path}; it has ${bytes} bytes now.`,
        isChange: true,
      }),
  })
