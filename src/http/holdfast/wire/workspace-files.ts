import { z } from 'zod'
import type { ListedFolder, WholeFile } from '../../../ports/workspace-files.ts'
import { dateSchema, wireDate } from '../../wire-date.ts'

export const folderSchema = z.lazy(() =>
  z
    .object({
      path: z.string().describe('The folder, relative to the workspace and without links; empty for the workspace.'),
      entries: z
        .array(
          z.object({
            name: z.string(),
            kind: z.enum(['file', 'folder', 'link', 'other']).describe('`link`: it may lead anywhere.'),
            bytes: z.int(),
            changed_at: dateSchema.describe('As the file system says; a program of the workspace can set it.'),
          }),
        )
        .describe('Folders first, by name.'),
      is_cut: z.boolean().describe('Whether the folder has more entries than the 1,000 that are listed.'),
    })
    .meta({ id: 'WorkspaceFolder', description: 'What a folder of a workspace has.' }),
)

export type WireFolder = z.output<typeof folderSchema>

export const wireFolder = ({ path, entries, isCut }: ListedFolder): WireFolder => ({
  path,
  entries: entries.map(({ name, kind, bytes, changedAt }) => ({ name, kind, bytes, changed_at: wireDate(changedAt) })),
  is_cut: isCut,
})

export const contentSchema = z
  .object({ bytes: z.int(), content: z.string().describe('The bytes of the file, in base64.') })
  .meta({ id: 'WorkspaceFile', description: 'A file of a workspace.' })

export type WireContent = z.output<typeof contentSchema>

export const wireContent = ({ content }: WholeFile): WireContent => ({
  bytes: content.length,
  content: Buffer.from(content.buffer, content.byteOffset, content.length).toString('base64'),
})
