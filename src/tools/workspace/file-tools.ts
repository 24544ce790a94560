import type { Tool } from '../../ports/tool.ts'
import type { Workspaces } from '../../ports/workspaces.ts'
import { editFile } from './edit-file.ts'
import { readFile } from './read-file.ts'
import { searchFiles } from './search-files.ts'
import { writeFile } from './write-file.ts'

/** Tools for the files of a conversation's workspace. */
export const fileTools = (workspaces: Workspaces): Tool[] => [
  readFile(workspaces),
  writeFile(workspaces),
  editFile(workspaces),
  searchFiles(workspaces),
]
