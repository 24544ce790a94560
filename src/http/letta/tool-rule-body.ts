import { z } from 'zod'
import { record } from '../field.ts'
import { withoutEffect } from '../field-fate.ts'

const rule = <T extends string>(type: T, text: string) =>
  z
    .looseObject({
      type: z.literal(type),
      tool_name: z.string().min(1).describe('Tool that the rule is about.'),
      prompt_template: withoutEffect(z.string().nullish(), 'the model is told about rules by the tools it is offered.'),
    })
    .describe(text)

const args = record.nullish()
const children = z.array(z.string()).describe('Names of the tools that follow.')

/** The required fields of each kind of rule; other fields are stored as sent. */
export const toolRuleBody = z.discriminatedUnion('type', [
  rule('run_first', 'The turn begins with this tool (or another one with the same rule).').extend({
    args: args.describe('Arguments that replace those of the model in the first call of the turn.'),
  }),
  rule('exit_loop', 'The turn ends when this tool has succeeded.'),
  rule('continue_loop', 'The turn continues after this tool, as it does after every tool without `exit_loop`.'),
  rule('requires_approval', 'Calls of this tool wait for approval.'),
  rule('required_before_exit', 'The turn does not end before this tool was called.'),
  rule('constrain_child_tools', 'After this tool, only `children` can be called.').extend({
    children,
    child_arg_nodes: z
      .array(z.object({ name: z.string().min(1).describe('One of `children`.'), args }))
      .nullish()
      .describe('Arguments that replace those of the model in the call that follows.'),
  }),
  rule(
    'parent_last_tool',
    '`children` can be called only right after this tool, and right after it nothing else can.',
  ).extend({ children }),
  rule('max_count_per_step', 'This tool can be called at most `max_count_limit` times in a turn.').extend({
    max_count_limit: z.number().int().min(1).describe('Most calls in a turn.'),
  }),
  rule('conditional', 'The result of this tool decides which tool can be called next.').extend({
    child_output_mapping: z
      .record(z.string(), z.string())
      .describe('Result of the tool to the name of the tool that follows it.'),
    default_child: z.string().nullish().describe('Tool that follows a result without a mapping.'),
    require_output_mapping: z.boolean().nullish().describe('Whether no tool can follow a result without a mapping.'),
  }),
])
