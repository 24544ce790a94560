import { type Block, insertText, replaceText } from '../../../core/block.ts'
import { defined } from '../../../core/defined.ts'
import type { MemoryDrafts } from '../../../core/memory-drafts.ts'
import type { Tool } from '../../../ports/tool.ts'
import { defineTool } from '../../define-tool.ts'
import { type EditMemory, type EditResult, editBlock, outcome, withErrorName } from './edit-blocks.ts'

type MemoryInput = {
  command: string
  path?: string | null
  file_text?: string | null
  description?: string | null
  old_string?: string | null
  new_string?: string | null
  /** The names of both before version 0.12 of the retired server, which agent files still teach. */
  old_str?: string | null
  new_str?: string | null
  insert_line?: number | null
  insert_text?: string | null
  old_path?: string | null
  new_path?: string | null
}

const text = (description: string) => ({ type: ['string', 'null'], description })

/** One tool for everything that can be done to memory blocks, which it names by paths. */
export const memoryTool = (editMemory: EditMemory): Tool =>
  withErrorName(
    defineTool<MemoryInput>({
      name: 'memory',
      description:
        'Works on your memory blocks, which it names by paths such as /memories/human. Commands: view, create (path, description, file_text), str_replace (path, old_string, new_string), insert (path, insert_text, insert_line), delete (path), rename (old_path, new_path; or path and description for a new description).',
      inputSchema: {
        type: 'object',
        properties: {
          command: { type: 'string', description: 'view, create, str_replace, insert, delete or rename.' },
          path: text('Path of the memory block.'),
          file_text: text('The text of a new block (create).'),
          description: text('What the block is for (create, rename).'),
          old_string: text('The text to replace, exactly as it is (str_replace).'),
          new_string: text('What stands there instead (str_replace).'),
          insert_line: {
            type: ['integer', 'null'],
            description: 'The line after which to insert; 0 is the beginning, -1 the end (insert).',
          },
          insert_text: text('The text to insert (insert).'),
          old_path: text('The path of the block (rename).'),
          new_path: text('Its new path (rename).'),
        },
        required: ['command'],
      },
      effects: 'none',
      run: (input, context) => editMemory(context, (drafts) => carryOut(input, drafts)),
    }),
  )

type Command = (input: MemoryInput, drafts: MemoryDrafts) => EditResult

function carryOut(input: MemoryInput, drafts: MemoryDrafts): EditResult {
  const command = Object.hasOwn(COMMANDS, input.command) ? COMMANDS[input.command] : undefined
  if (command) return command(input, drafts)
  return refused(`Unknown command "${input.command}". Use one of ${Object.keys(COMMANDS).join(', ')}.`)
}

const COMMANDS: Record<string, Command> = {
  view({ path }, drafts) {
    if (!path || labelIn(path, drafts) === '') return done(listing(drafts))
    const block = drafts.find(labelIn(path, drafts))
    return block ? done(block.value) : refused(`Memory block '${labelIn(path, drafts)}' does not exist`)
  },
  create({ path, description, file_text }, drafts) {
    if (!path) return lacks('path', 'create')
    if (description === undefined || description === null) return lacks('description', 'create')
    const label = bareLabel(path)
    return outcome(
      drafts.create(label, { value: file_text ?? '', description }),
      `Successfully created memory block '${label}'. ${LATER}`,
    )
  },
  str_replace({ path, old_string, new_string, old_str, new_str }, drafts) {
    const [before, after] = [old_string ?? old_str, new_string ?? new_str]
    if (!path) return lacks('path', 'str_replace')
    if (typeof before !== 'string') return lacks('old_string', 'str_replace')
    if (typeof after !== 'string') return lacks('new_string', 'str_replace')
    return editBlock(drafts, labelIn(path, drafts), { edit: (block) => replaceText(block, before, after), say: whole })
  },
  insert({ path, insert_text, insert_line }, drafts) {
    if (!path) return lacks('path', 'insert')
    if (typeof insert_text !== 'string') return lacks('insert_text', 'insert')
    const edit = (block: Block) => insertText(block, insert_text, insert_line ?? -1)
    return editBlock(drafts, labelIn(path, drafts), { edit, say: whole })
  },
  delete({ path }, drafts) {
    if (!path) return lacks('path', 'delete')
    const label = labelIn(path, drafts)
    return outcome(drafts.detach(label), `Successfully deleted memory block '${label}'. ${LATER}`)
  },
  rename({ path, description, old_path, new_path }, drafts) {
    const isDescribed = Boolean(path) && typeof description === 'string'
    if (isDescribed) return describe(labelIn(path!, drafts), description!, drafts)
    if (!old_path) return lacks('old_path', 'rename')
    if (!new_path) return lacks('new_path', 'rename')
    const label = labelIn(old_path, drafts)
    const to = bareLabel(new_path)
    const renamed = outcome(
      drafts.rename(label, to),
      `Successfully renamed memory block '${label}' to '${to}'. ${LATER}`,
    )
    if (renamed.type === 'refused' || typeof description !== 'string') return renamed
    return outcome(drafts.describe(to, description), renamed.output)
  },
  update_description({ path, description }, drafts) {
    if (!path) return lacks('path', 'update_description')
    if (typeof description !== 'string') return lacks('description', 'update_description')
    return describe(labelIn(path, drafts), description, drafts)
  },
}

const describe = (label: string, description: string, drafts: MemoryDrafts): EditResult =>
  outcome(drafts.describe(label, description), `Successfully updated description of memory block '${label}'. ${LATER}`)

/** The prompt of a turn stays identical to the byte. */
const LATER = 'Your system prompt shows this from the next message on.'

const done = (output: string): EditResult => ({ type: 'done', output })
const refused = (reason: string): EditResult => ({ type: 'refused', reason })
const lacks = (field: string, command: string): EditResult => refused(`${field} is required for ${command} command`)
const whole = (value: string): string => value

const bareLabel = (path: string): string => path.replace(/^\/memories(\/|$)/, '').replace(/^\//, '')

/** The label that a path names. The retired server wrote a slash in it as `_`. */
function labelIn(path: string, drafts: MemoryDrafts): string {
  const label = bareLabel(path)
  return drafts.find(label) ? label : label.replaceAll('/', '_')
}

function listing(drafts: MemoryDrafts): string {
  const blocks = drafts.labels().flatMap((label) => drafts.find(label) ?? [])
  if (blocks.length === 0) return 'There are no memory blocks.'
  const entries = blocks.map(({ label, description, value }) => ({
    path: `/memories/${label}`,
    characters: value.length,
    ...defined({ description }),
  }))
  return JSON.stringify(entries, null, 1)
}
