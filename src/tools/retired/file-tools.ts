import type { Tool } from '../../ports/tool.ts'
import { defineTool, failure, success } from '../define-tool.ts'

const NO_FILES = 'There are no files: no folder is attached to you. Go on without them.'

const optionalCount = (description: string) => ({ type: ['integer', 'null'], minimum: 0, description })

/** Tools for the files of folders, which Holdfast does not have: agents that name them keep them, and learn that. */
export const fileTools: Tool[] = [
  defineTool({
    name: 'open_files',
    description: 'Shows files of your folders in your context.',
    inputSchema: {
      type: 'object',
      properties: {
        file_requests: {
          type: 'array',
          description: 'The files to open.',
          items: {
            type: 'object',
            properties: {
              file_name: { type: 'string', description: 'Name of the file, with its folder.' },
              offset: optionalCount('The first line to show; 1 is the beginning.'),
              length: optionalCount('How many lines to show.'),
            },
            required: ['file_name'],
          },
        },
        close_all_others: { type: ['boolean', 'null'], description: 'Closes all other files first.' },
      },
      required: ['file_requests'],
    },
    effects: 'none',
    run: async () => failure(NO_FILES),
  }),
  defineTool({
    name: 'grep_files',
    description: 'Searches the files of your folders for a pattern.',
    inputSchema: {
      type: 'object',
      properties: {
        pattern: { type: 'string', description: 'A word or a regular expression.' },
        include: { type: ['string', 'null'], description: 'Search only files whose names match this.' },
        context_lines: optionalCount('Lines to show before and after each match. Default: 1.'),
        offset: optionalCount('Matches to skip, for the next page.'),
      },
      required: ['pattern'],
    },
    effects: 'none',
    parallel: true,
    run: async () => success(`No matches. ${NO_FILES}`),
  }),
  defineTool({
    name: 'semantic_search_files',
    description: 'Searches the files of your folders by meaning.',
    inputSchema: {
      type: 'object',
      properties: {
        query: { type: 'string', description: 'What to look for.' },
        limit: { type: ['integer', 'null'], minimum: 1, description: 'Maximum number of results. Default: 5.' },
      },
      required: ['query'],
    },
    effects: 'none',
    parallel: true,
    run: async () => success(`No results. ${NO_FILES}`),
  }),
]
