import { defined } from '../../core/defined.ts'
import type { Tool } from '../../ports/tool.ts'
import { defineTool, failure, success } from '../define-tool.ts'
import type { BuiltinToolDeps } from './builtin-tool-deps.ts'

export const currentTime = ({ clock }: Pick<BuiltinToolDeps, 'clock'>): Tool =>
  defineTool<{ timeZone?: string }>({
    name: 'current_time',
    description: 'Tells the date and time now, in a time zone if one is named, otherwise in the one of this machine.',
    inputSchema: {
      type: 'object',
      properties: { timeZone: { type: 'string', minLength: 1, description: 'IANA name, for example Asia/Tokyo' } },
      additionalProperties: false,
    },
    effects: 'none',
    parallel: true,
    run: async ({ timeZone }) => {
      const format = formatFor(timeZone)
      if (!format) return failure(`There is no time zone "${timeZone}". Use an IANA name such as Asia/Tokyo or UTC.`)
      return success(`${format.format(clock.now())} (${format.resolvedOptions().timeZone})`)
    },
  })

function formatFor(timeZone: string | undefined): Intl.DateTimeFormat | undefined {
  try {
    return new Intl.DateTimeFormat('en-GB', {
      dateStyle: 'full',
      timeStyle: 'medium',
      ...defined({ timeZone: timeZone || undefined }),
    })
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}
