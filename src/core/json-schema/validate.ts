import { canonicalJson, type Json, type JsonObject } from '../json.ts'
import type { WorkBudget } from '../work-budget.ts'
import { hasFormat } from './formats.ts'
import { isObject, type SchemaDocument, SchemaFault } from './schema-document.ts'

/** A part of the input that a keyword refuses; both locations are JSON pointers that begin with `#`. */
export type ValidationError = { keyword: string; keywordLocation: string; instanceLocation: string; error: string }

/** A check takes as long as so many steps of a pattern. */
const STEPS_PER_CHECK = 16
/** References may lead in a circle, and the stack of the process is finite. */
const MAX_NESTING = 500

/**
 * Validates by JSON Schema 2020-12 and the array forms of older drafts. The schema may be hostile: the work is counted,
 * and `OverBudget` is thrown when none is left. A keyword with a value of the wrong type has no effect.
 */
export function validate(input: Json, document: SchemaDocument, budget: WorkBudget): ValidationError[] {
  const errors: ValidationError[] = []
  const judged = document.hasUnevaluated ? new Set<string>() : undefined
  check({ document, budget, errors, depth: 0, value: input, schema: document.root, at: '#', by: '#', judged })
  return errors
}

/** One value and the schema that it must match. */
type Check = {
  document: SchemaDocument
  budget: WorkBudget
  errors: ValidationError[]
  depth: number
  value: Json
  schema: Json
  /** Location of the value and of the schema. */
  at: string
  by: string
  /** Names and indexes that some keyword has judged; absent if no keyword asks. */
  judged: Set<string> | undefined
}

/** Whether the value is valid; otherwise the errors are in the list. */
function check(one: Check): boolean {
  const { budget, schema, errors, value, depth } = one
  budget.spend(STEPS_PER_CHECK)
  if (depth > MAX_NESTING) throw new SchemaFault(`it refers to itself, or is nested, more than ${MAX_NESTING} deep`)
  if (schema === false) {
    errors.push({ keyword: 'false', keywordLocation: one.by, instanceLocation: one.at, error: 'False boolean schema.' })
    return false
  }
  if (!isObject(schema)) return true
  const before = errors.length
  checkReferences(one, schema)
  checkKind(one, schema)
  checkChoices(one, schema)
  checkCondition(one, schema)
  if (Array.isArray(value)) checkItems(one, schema, value)
  else if (isObject(value)) checkProperties(one, schema, value)
  else if (typeof value === 'string') checkText(one, schema, value)
  else if (typeof value === 'number') checkNumber(one, schema, value)
  return errors.length === before
}

/** Errors take memory until the first of them are told. */
const STEPS_PER_ERROR = 50

function fail({ budget, errors, at, by }: Check, keyword: string, error: string): void {
  budget.spend(STEPS_PER_ERROR)
  errors.push({ keyword, keywordLocation: `${by}/${keyword}`, instanceLocation: at, error })
}

type Inner = { schema: Json; keyword: string; value?: Json; step?: string; judged?: Set<string> | undefined }

/** Checks the value, or with `step` a part of it, by a schema inside this one. */
function checkInner(one: Check, { schema, keyword, value, step, judged }: Inner): boolean {
  const isPart = step !== undefined
  return check({
    document: one.document,
    budget: one.budget,
    errors: one.errors,
    depth: one.depth + 1,
    value: isPart ? (value ?? null) : one.value,
    schema,
    at: isPart ? `${one.at}/${encodeStep(step)}` : one.at,
    by: `${one.by}/${keyword}`,
    judged: isPart ? one.judged && new Set() : judged,
  })
}

/** Whether the inner schema matches; its errors are dropped. */
function matches(one: Check, inner: Inner): boolean {
  const before = one.errors.length
  const isValid = checkInner(one, inner)
  one.errors.length = before
  return isValid
}

const encodeStep = (step: string): string => encodeURI(step.toWellFormed().replaceAll('~', '~0').replaceAll('/', '~1'))

function checkReferences(one: Check, schema: JsonObject): void {
  for (const keyword of ['$ref', '$dynamicRef', '$recursiveRef']) {
    const reference = schema[keyword]
    if (typeof reference !== 'string') continue
    checkInner(one, { schema: one.document.resolve(reference), keyword, judged: one.judged })
  }
}

function checkKind(one: Check, schema: JsonObject): void {
  const { value } = one
  const { type, const: constant, enum: choices } = schema
  const types = typeof type === 'string' ? [type] : Array.isArray(type) ? type : undefined
  if (types && !types.some((wanted) => isOfType(value, wanted)))
    fail(one, 'type', `Instance type "${kindOf(value)}" is invalid. Expected "${types.join('", "')}".`)
  if (constant !== undefined && !isSame(one, constant, canonical(one, value)))
    fail(one, 'const', `Instance does not match ${shortJson(constant)}.`)
  if (!Array.isArray(choices)) return
  const text = canonical(one, value)
  if (!choices.some((choice) => isSame(one, choice, text)))
    fail(one, 'enum', `Instance does not match any of ${shortJson(choices)}.`)
}

const shortJson = (value: Json): string => JSON.stringify(value).slice(0, 1_000)

const isSame = (one: Check, expected: Json, actual: string): boolean => canonical(one, expected) === actual

/** Equal values have equal texts; each of their parts is a step. */
function canonical({ budget }: Check, value: Json): string {
  if (value === null || typeof value !== 'object') {
    budget.spend(typeof value === 'string' ? 1 + value.length / 64 : 1)
    return JSON.stringify(value)
  }
  const open: Json[] = [value]
  for (let part = open.pop(); part !== undefined; part = open.pop()) {
    budget.spend(typeof part === 'string' ? 1 + part.length / 64 : 1)
    if (part !== null && typeof part === 'object') for (const inner of Object.values(part)) open.push(inner)
  }
  return canonicalJson(value)
}

export function kindOf(value: Json): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

const isOfType = (value: Json, type: Json): boolean =>
  type === 'integer' ? Number.isInteger(value) : kindOf(value) === type

function checkChoices(one: Check, schema: JsonObject): void {
  const { not, allOf, anyOf, oneOf } = schema
  if (not !== undefined && matches(one, { schema: not, keyword: 'not' })) fail(one, 'not', 'Instance matched "not".')
  if (Array.isArray(allOf))
    for (const [index, inner] of allOf.entries())
      checkInner(one, { schema: inner, keyword: `allOf/${index}`, judged: one.judged })
  if (Array.isArray(anyOf)) checkBranches(one, { keyword: 'anyOf', branches: anyOf })
  if (Array.isArray(oneOf)) checkBranches(one, { keyword: 'oneOf', branches: oneOf })
}

function checkBranches(one: Check, { keyword, branches }: { keyword: 'anyOf' | 'oneOf'; branches: Json[] }): void {
  const before = one.errors.length
  let valid = 0
  for (const [index, schema] of branches.entries()) {
    const judged = one.judged && new Set<string>()
    if (!checkInner(one, { schema, keyword: `${keyword}/${index}`, judged })) continue
    valid += 1
    addJudged(one, judged)
  }
  if (keyword === 'anyOf' ? valid > 0 : valid === 1) one.errors.length = before
  else if (valid > 0) {
    one.errors.length = before
    fail(one, keyword, `Instance does not match exactly one subschema (${valid} matches).`)
  } else fail(one, keyword, 'Instance does not match any subschemas.')
}

function addJudged(one: Check, judged: Set<string> | undefined): void {
  one.budget.spend(judged?.size ?? 0)
  for (const key of judged ?? []) one.judged?.add(key)
}

function checkCondition(one: Check, schema: JsonObject): void {
  if (schema.if === undefined) return
  const judged = one.judged && new Set<string>()
  const holds = matches(one, { schema: schema.if, keyword: 'if', judged })
  if (holds) addJudged(one, judged)
  const keyword = holds ? 'then' : 'else'
  const next = schema[keyword]
  if (next !== undefined) checkInner(one, { schema: next, keyword, judged: one.judged })
}

function checkProperties(one: Check, schema: JsonObject, value: JsonObject): void {
  const keys = Object.keys(value)
  one.budget.spend(keys.length)
  const { required, minProperties, maxProperties, additionalProperties, unevaluatedProperties, propertyNames } = schema
  if (Array.isArray(required)) checkRequired(one, required, 'required')
  if (isOver(minProperties, keys.length)) fail(one, 'minProperties', `It has fewer than ${minProperties} properties.`)
  if (isUnder(maxProperties, keys.length)) fail(one, 'maxProperties', `It has more than ${maxProperties} properties.`)
  checkDependencies(one, schema)
  const named = isObject(schema.properties) ? schema.properties : {}
  const patterns = Object.entries(isObject(schema.patternProperties) ? schema.patternProperties : {})
  for (const key of keys) {
    one.budget.spend(key.length / 16)
    const part = { value: value[key]!, step: key }
    const isNamed = Object.hasOwn(named, key)
    if (isNamed) checkInner(one, { schema: named[key]!, keyword: `properties/${encodeStep(key)}`, ...part })
    let isKnown = isNamed
    for (const [source, inner] of patterns) {
      if (!one.document.pattern(source).test(key, one.budget)) continue
      isKnown = true
      checkInner(one, { schema: inner, keyword: `patternProperties/${encodeStep(source)}`, ...part })
    }
    if (!isKnown && additionalProperties !== undefined)
      checkInner(one, { schema: additionalProperties, keyword: 'additionalProperties', ...part })
    if (isKnown || additionalProperties !== undefined) one.judged?.add(key)
    if (propertyNames !== undefined)
      checkInner(one, { schema: propertyNames, keyword: 'propertyNames', value: key, step: key })
  }
  if (unevaluatedProperties === undefined) return
  for (const key of keys) {
    if (one.judged?.has(key)) continue
    checkInner(one, { schema: unevaluatedProperties, keyword: 'unevaluatedProperties', value: value[key]!, step: key })
    one.judged?.add(key)
  }
}

function checkRequired(one: Check, names: Json[], keyword: string): void {
  one.budget.spend(names.length)
  for (const name of names)
    if (typeof name === 'string' && !Object.hasOwn(one.value as JsonObject, name))
      fail(one, keyword, `Instance does not have required property "${name}".`)
}

function checkDependencies(one: Check, schema: JsonObject): void {
  for (const keyword of ['dependentRequired', 'dependentSchemas', 'dependencies']) {
    const dependencies = schema[keyword]
    if (!isObject(dependencies)) continue
    one.budget.spend(Object.keys(dependencies).length)
    for (const [key, needed] of Object.entries(dependencies)) {
      if (!Object.hasOwn(one.value as JsonObject, key)) continue
      if (Array.isArray(needed)) checkRequired(one, needed, 'required')
      else checkInner(one, { schema: needed, keyword: `${keyword}/${encodeStep(key)}`, judged: one.judged })
    }
  }
}

function checkItems(one: Check, schema: JsonObject, items: Json[]): void {
  const { minItems, maxItems, uniqueItems, unevaluatedItems } = schema
  one.budget.spend(items.length)
  if (isOver(minItems, items.length)) fail(one, 'minItems', `It has fewer than ${minItems} items.`)
  if (isUnder(maxItems, items.length)) fail(one, 'maxItems', `It has more than ${maxItems} items.`)
  if (uniqueItems === true && new Set(items.map((item) => canonical(one, item))).size < items.length)
    fail(one, 'uniqueItems', 'It has the same item twice.')
  // Before the draft 2020-12, `items` could be the list of the first items.
  const isOld = Array.isArray(schema.items)
  const prefix = isOld ? (schema.items as Json[]) : Array.isArray(schema.prefixItems) ? schema.prefixItems : []
  const prefixKeyword = isOld ? 'items' : 'prefixItems'
  const rest = isOld ? schema.additionalItems : schema.items
  for (const [index, item] of items.entries()) {
    const inner = index < prefix.length ? prefix[index] : rest
    if (inner === undefined) break
    const restKeyword = isOld ? 'additionalItems' : 'items'
    const keyword = index < prefix.length ? `${prefixKeyword}/${index}` : restKeyword
    checkInner(one, { schema: inner, keyword, value: item, step: String(index) })
    one.judged?.add(String(index))
  }
  checkContains(one, schema, items)
  if (unevaluatedItems === undefined) return
  for (const [index, item] of items.entries()) {
    const step = String(index)
    if (one.judged?.has(step)) continue
    checkInner(one, { schema: unevaluatedItems, keyword: 'unevaluatedItems', value: item, step })
    one.judged?.add(step)
  }
}

function checkContains(one: Check, schema: JsonObject, items: Json[]): void {
  const { contains, minContains, maxContains } = schema
  if (contains === undefined) return
  let count = 0
  for (const [index, value] of items.entries()) {
    const step = String(index)
    if (!matches(one, { schema: contains, keyword: 'contains', value, step })) continue
    count += 1
    one.judged?.add(step)
  }
  const least = typeof minContains === 'number' ? minContains : 1
  if (count < least) fail(one, 'contains', `It contains ${count} of the ${least} items that must match.`)
  if (isUnder(maxContains, count)) fail(one, 'maxContains', `It contains more than ${maxContains} items that match.`)
}

function checkText(one: Check, schema: JsonObject, text: string): void {
  const { minLength, maxLength, pattern, format } = schema
  if (minLength !== undefined || maxLength !== undefined) {
    one.budget.spend(text.length / 16)
    const length = lengthOf(text)
    if (isOver(minLength, length)) fail(one, 'minLength', `String is too short (${length} < ${minLength}).`)
    if (isUnder(maxLength, length)) fail(one, 'maxLength', `String is too long (${length} > ${maxLength}).`)
  }
  if (typeof pattern === 'string' && !one.document.pattern(pattern).test(text, one.budget))
    fail(one, 'pattern', 'String does not match pattern.')
  if (typeof format === 'string' && !hasFormat(text, format))
    fail(one, 'format', `String does not match format "${format}".`)
}

/** The number of characters, not of their UTF-16 units. */
function lengthOf(text: string): number {
  let length = 0
  for (const _ of text) length += 1
  return length
}

function checkNumber(one: Check, schema: JsonObject, value: number): void {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema
  if (isOver(minimum, value)) fail(one, 'minimum', `${value} is less than ${minimum}.`)
  if (isUnder(maximum, value)) fail(one, 'maximum', `${value} is greater than ${maximum}.`)
  if (typeof exclusiveMinimum === 'number' && value <= exclusiveMinimum)
    fail(one, 'exclusiveMinimum', `${value} is not more than ${exclusiveMinimum}.`)
  if (typeof exclusiveMaximum === 'number' && value >= exclusiveMaximum)
    fail(one, 'exclusiveMaximum', `${value} is not less than ${exclusiveMaximum}.`)
  if (typeof multipleOf === 'number' && !isMultiple(value, multipleOf))
    fail(one, 'multipleOf', `${value} is not a multiple of ${multipleOf}.`)
}

/** 0.3 is a multiple of 0.1, although the division of the two doubles is not exact. */
function isMultiple(value: number, step: number): boolean {
  if (step <= 0) return true
  const times = value / step
  return Number.isInteger(times) || Math.abs(times - Math.round(times)) <= Math.abs(times) * 4 * Number.EPSILON
}

const isOver = (least: Json | undefined, actual: number): boolean => typeof least === 'number' && actual < least
const isUnder = (most: Json | undefined, actual: number): boolean => typeof most === 'number' && actual > most
