import { z } from 'zod'

const child = { tool_name: z.string().min(1), prompt_template: z.string().nullish() }
const children = z.array(z.string())

/** What each kind of rule needs; whatever else comes with one is kept as it came. */
export const toolRuleBody = z.discriminatedUnion('type', [
  z.looseObject({ ...child, type: z.literal('run_first') }),
  z.looseObject({ ...child, type: z.literal('exit_loop') }),
  z.looseObject({ ...child, type: z.literal('continue_loop') }),
  z.looseObject({ ...child, type: z.literal('requires_approval') }),
  z.looseObject({ ...child, type: z.literal('required_before_exit') }),
  z.looseObject({ ...child, type: z.literal('constrain_child_tools'), children }),
  z.looseObject({ ...child, type: z.literal('parent_last_tool'), children }),
  z.looseObject({ ...child, type: z.literal('max_count_per_step'), max_count_limit: z.number().int().min(1) }),
  z.looseObject({
    ...{ ...child, type: z.literal('conditional'), child_output_mapping: z.record(z.string(), z.string()) },
    ...{ default_child: z.string().nullish(), require_output_mapping: z.boolean().nullish() },
  }),
])
