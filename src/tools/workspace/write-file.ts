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
      'Writes a text file in your workspace as UTF-8 and creates missing parent folders. Replaces the whole content of an existing file; to change a part, use edit_file. If writing fails, the old content stays.',
    inputSchema: {
      type: 'object',
      properties: {
        path: { type: 'string', description: 'The file, relative to the workspace or absolute inside it.' },
        content: {
          type: 'string',
          description: 'The whole new content. Most files end with a line break.',
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
          isNew
            ? `Created ${path} with ${bytes} bytes.`
            : `Replaced the content of ${path}; it now has ${bytes} bytes.`,
        isChange: true,
      }),
  })
