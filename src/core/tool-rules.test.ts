import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  allowedTools,
  type CallHistory,
  exitToolsOf,
  mustCall,
  stillRequired,
  type ToolRule,
  toolRulesOf,
} from './tool-rules.ts'

const NAMES = ['plan', 'search', 'read', 'write', 'finish']

type Row = { rule: string; rules: ToolRule[]; called: CallHistory; allowed: string[]; must?: boolean }
const after = (...tools: string[]): CallHistory => ({ tools, lastAnswer: 'done' })

const ROWS: Row[] = [
  { rule: 'no rules', rules: [], called: after('plan'), allowed: NAMES },
  {
    rule: 'the first tool',
    rules: [{ type: 'first', tool: 'plan' }],
    called: { tools: [] },
    allowed: ['plan'],
    must: true,
  },
  { rule: 'after the first tool', rules: [{ type: 'first', tool: 'plan' }], called: after('plan'), allowed: NAMES },
  {
    rule: 'one of two first tools',
    called: { tools: [] },
    allowed: ['plan', 'search'],
    must: true,
    rules: [
      { type: 'first', tool: 'plan' },
      { type: 'first', tool: 'search' },
    ],
  },
  {
    rule: 'only read after search',
    called: after('plan', 'search'),
    allowed: ['read'],
    must: true,
    rules: [{ type: 'then-only', tool: 'search', children: ['read'] }],
  },
  {
    rule: 'two tools may follow',
    called: after('search'),
    allowed: ['read', 'write'],
    rules: [{ type: 'then-only', tool: 'search', children: ['read', 'write'] }],
  },
  {
    rule: 'another tool was called after search',
    called: after('search', 'read'),
    allowed: NAMES,
    rules: [{ type: 'then-only', tool: 'search', children: ['read'] }],
  },
  {
    rule: 'write only after read',
    called: after('plan'),
    allowed: ['plan', 'search', 'read', 'finish'],
    rules: [{ type: 'only-after', tool: 'read', children: ['write'] }],
  },
  {
    rule: 'only write directly after read',
    called: after('read'),
    allowed: ['write'],
    must: true,
    rules: [{ type: 'only-after', tool: 'read', children: ['write'] }],
  },
  {
    rule: 'at most twice',
    called: after('search', 'plan', 'search'),
    allowed: ['plan', 'read', 'write', 'finish'],
    rules: [{ type: 'at-most', tool: 'search', count: 2 }],
  },
  {
    rule: 'the output decides',
    called: { tools: ['search'], lastAnswer: 'found' },
    allowed: ['read'],
    must: true,
    rules: [{ type: 'by-answer', tool: 'search', children: { found: 'read' }, otherwise: 'finish', isStrict: false }],
  },
  {
    rule: 'another output',
    called: { tools: ['search'], lastAnswer: 'nothing' },
    allowed: ['finish'],
    must: true,
    rules: [{ type: 'by-answer', tool: 'search', children: { found: 'read' }, otherwise: 'finish', isStrict: false }],
  },
  {
    rule: 'an output without a mapping',
    called: { tools: ['search'], lastAnswer: 'x' },
    allowed: [],
    rules: [{ type: 'by-answer', tool: 'search', children: { found: 'read' }, isStrict: true }],
  },
  {
    rule: 'no output yet',
    called: { tools: ['search'] },
    allowed: [],
    rules: [{ type: 'by-answer', tool: 'search', children: { found: 'read' }, isStrict: false }],
  },
  {
    rule: 'two rules combined',
    called: after('search'),
    allowed: ['write'],
    must: true,
    rules: [
      { type: 'then-only', tool: 'search', children: ['read', 'write'] },
      { type: 'at-most', tool: 'read', count: 0 },
    ],
  },
]

for (const { rule, rules, called, allowed, must = false } of ROWS)
  test(`rules allow the right tools: ${rule}`, () => {
    assert.deepEqual(allowedTools(NAMES, rules, called), allowed)
    assert.equal(mustCall(allowed, rules, called), must)
  })

test('a required tool is required until it is called', () => {
  const rules: ToolRule[] = [{ type: 'required', tool: 'write' }]
  assert.deepEqual(stillRequired(rules, after('plan')), ['write'])
  assert.deepEqual(stillRequired(rules, after('plan', 'write', 'read')), [])
})

test('rules in the wire format are parsed, and invalid ones are left out', () => {
  const settings = {
    wire: {
      tool_rules: [
        { type: 'run_first', tool_name: 'plan' },
        { type: 'exit_loop', tool_name: 'finish' },
        { type: 'continue_loop', tool_name: 'plan' },
        { type: 'conditional', tool_name: 'search', child_output_mapping: { yes: 'read', no: 3 }, default_child: null },
        { type: 'max_count_per_step', tool_name: 'read', max_count_limit: 2 },
        'nonsense',
      ],
    },
  }
  assert.deepEqual(toolRulesOf({ settings }), [
    { type: 'first', tool: 'plan' },
    { type: 'by-answer', tool: 'search', children: { yes: 'read' }, isStrict: false },
    { type: 'at-most', tool: 'read', count: 2 },
  ])
  assert.deepEqual(exitToolsOf({ settings }), ['finish'])
})
