import type { Json } from '../core/json.ts'
import { kindOf, type ValidationError } from '../core/json-schema/validate.ts'
import type { Tool } from '../ports/tool.ts'

/** Enough to fix a call in one attempt. */
const MAX_FAULTS = 5
/** Errors that are looked at to find the fields. */
const MAX_ERRORS = 1_000

/** Keywords that only wrap the errors of their branches. */
const WRAPPERS = new Set(['anyOf', 'oneOf'])

/** A sentence for the model: which field, what was expected, what was given. */
export function describeFault(tool: Tool, input: Json, errors: readonly ValidationError[]): string {
  const leaves = errors.slice(0, MAX_ERRORS).filter((error) => !WRAPPERS.has(error.keyword))
  const byField = Map.groupBy(leaves.length > 0 ? leaves : errors.slice(0, MAX_ERRORS), fieldOf)
  const sentences = [...byField].slice(0, MAX_FAULTS).map(([field, faults]) => {
    const isChoice = faults.some((fault) => /\/(anyOf|oneOf)\//.test(fault.keywordLocation))
    const expectations = new Set(faults.map((fault) => describeExpectation(tool, fault)))
    const subject = field === '' ? 'the whole input' : `"${field}"`
    return `${subject} ${[...expectations].join(isChoice ? ' or ' : ' and ')}${actualKind(input, faults[0]!)}`
  })
  return `Invalid input for ${tool.name}: ${sentences.join('; ')}.`
}

type DescribeExpectation = (expected: Json) => string

/** What a keyword requires, given its value in the schema. */
const EXPECTATIONS: Record<string, DescribeExpectation> = {
  type: (types) => `must be ${(Array.isArray(types) ? types : [types]).map(withArticle).join(' or ')}`,
  enum: (choices) => `must be one of ${(choices as Json[]).map((choice) => JSON.stringify(choice)).join(', ')}`,
  const: (value) => `must be ${JSON.stringify(value)}`,
  minimum: (bound) => `must be ${bound} or more`,
  maximum: (bound) => `must be ${bound} or less`,
  exclusiveMinimum: (bound) => `must be more than ${bound}`,
  exclusiveMaximum: (bound) => `must be less than ${bound}`,
  multipleOf: (step) => `must be a multiple of ${step}`,
  minLength: (bound) => (bound === 1 ? 'must not be empty' : `must have ${bound} or more characters`),
  maxLength: (bound) => `must have ${bound} or fewer characters`,
  pattern: (pattern) => `must match the pattern ${pattern}`,
  format: (format) => `must be a valid ${format}`,
  minItems: (bound) => `must have ${bound} or more items`,
  maxItems: (bound) => `must have ${bound} or fewer items`,
  uniqueItems: () => 'must not hold the same item twice',
}

function describeExpectation(tool: Tool, fault: ValidationError): string {
  if (fault.keyword === 'required') return `is missing${expectedType(tool, fault)}`
  if (fault.keyword === 'false') return `is not a known field${knownFields(tool, fault)}`
  const describe = EXPECTATIONS[fault.keyword]
  const expected = valueAt(tool.inputSchema, fault.keywordLocation)
  return describe && expected !== undefined ? describe(expected) : `is wrong (${fault.error.replace(/\.$/, '')})`
}

/** The type of a missing field, so that the model can send it without a second error. */
function expectedType(tool: Tool, fault: ValidationError): string {
  const pointer = fault.keywordLocation.replace(/required$/, `properties/${missingName(fault)}/type`)
  const type = valueAt(tool.inputSchema, pointer)
  return type === undefined ? '' : `; it ${EXPECTATIONS.type!(type)}`
}

function knownFields(tool: Tool, fault: ValidationError): string {
  const isTopLevel = pointerSteps(fault.instanceLocation).length === 1
  const known = isTopLevel ? Object.keys(objectAt(valueAt(tool.inputSchema, '#/properties'))) : []
  return known.length === 0 ? '' : `; known are ${known.map((name) => `"${name}"`).join(', ')}`
}

function actualKind(input: Json, fault: ValidationError): string {
  if (fault.keyword !== 'type') return ''
  const value = valueAt(input, fault.instanceLocation)
  return value === undefined ? '' : `, but it is ${withArticle(kindOf(value))}`
}

function fieldOf(fault: ValidationError): string {
  const steps = pointerSteps(fault.instanceLocation)
  return (fault.keyword === 'required' ? [...steps, missingName(fault)] : steps).join('.')
}

/** The validator names the missing property only in its message. */
const missingName = (fault: ValidationError): string => /property "(.*)"/.exec(fault.error)?.[1] ?? ''

function valueAt(root: Json, pointer: string): Json | undefined {
  let value: Json | undefined = root
  for (const step of pointerSteps(pointer)) {
    if (value === null || typeof value !== 'object' || !Object.hasOwn(value, step)) return undefined
    value = (value as Record<string, Json>)[step]
  }
  return value
}

const pointerSteps = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((step) => decodeURI(step).replaceAll('~1', '/').replaceAll('~0', '~'))

const objectAt = (value: Json | undefined): Record<string, Json> =>
  value !== null && typeof value === 'object' && !Array.isArray(value) ? value : {}

function withArticle(type: Json): string {
  if (type === 'null') return 'null'
  return `${/^[aeiou]/.test(String(type)) ? 'an' : 'a'} ${type}`
}
