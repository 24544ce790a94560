import yaml from 'yaml'
import { CONFIG_SCHEMA, type ConfigFile, keysAt } from './config-schema.ts'
import { nearestName } from './nearest-name.ts'

type Path = readonly PropertyKey[]
type LineOf = (path: Path) => number | undefined
type Fault = { sentence: string; line: number | undefined }
type Issue = { code: string; path: Path; message: string; keys?: string[] }

/** Parses and validates config.yaml. Each fault is one sentence with its line, in the order of the file. */
export function parseConfigFile(text: string): { config: ConfigFile; faults: string[] } {
  const lines = new yaml.LineCounter()
  const document = yaml.parseDocument(text, { lineCounter: lines })
  if (document.errors.length > 0) return { config: {}, faults: document.errors.map(syntaxFault) }
  const values = valuesOf(document)
  if ('fault' in values) return { config: {}, faults: [values.fault] }
  const checked = CONFIG_SCHEMA.safeParse(values.read ?? {})
  if (checked.success) return { config: checked.data, faults: [] }
  const lineOf = lineFinder(document, lines)
  const faults = (checked.error.issues as Issue[]).flatMap((issue) => faultsOf(issue, lineOf))
  return { config: {}, faults: faults.toSorted(byLine).map(toSentence) }
}

/** Aliases that multiply are refused by the parser, which throws. */
function valuesOf(document: yaml.Document.Parsed): { read: unknown } | { fault: string } {
  try {
    return { read: document.toJS() }
  } catch (fault) {
    const detail = fault instanceof Error ? fault.message : String(fault)
    return { fault: `config.yaml: write out what its aliases repeat (${detail}), at line 1` }
  }
}

function faultsOf({ code, path, message, keys = [] }: Issue, lineOf: LineOf): Fault[] {
  if (code !== 'unrecognized_keys') return [{ sentence: `${dotted(path)} ${message},`, line: lineOf(path) }]
  return keys.map((key) => {
    const where = path.length > 0 ? ` in ${dotted(path)}` : ''
    const near = nearestName(key, keysAt(path))
    const hint = near ? ` (did you mean "${near}"?)` : ''
    return { sentence: `unknown key "${key}"${where}${hint}`, line: lineOf([...path, key]) }
  })
}

const byLine = (one: Fault, other: Fault): number => (one.line ?? 0) - (other.line ?? 0)

const toSentence = ({ sentence, line }: Fault): string =>
  line === undefined ? `config.yaml: ${sentence.replace(/,$/, '')}` : `config.yaml: ${sentence} at line ${line}`

/** `fallback[1]`, `limits.body_bytes` */
function dotted(path: Path): string {
  const steps = path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step)}`))
  return steps.join('').replace(/^\./, '') || 'the top level'
}

/** The first line has the error and its position; the rest is an excerpt of the file. */
const syntaxFault = ({ message }: { message: string }): string =>
  `config.yaml: ${message.split('\n')[0]!.replace(/:$/, '')}`

/** The line of the last key or list entry of a path, or of the nearest one above it that can be found. */
function lineFinder(document: yaml.Document.Parsed, lines: yaml.LineCounter): LineOf {
  return (path) => {
    let node: unknown = document.contents
    let found: unknown = node
    for (const step of path) {
      if (yaml.isAlias(node)) node = node.resolve(document)
      if (yaml.isMap(node)) {
        const pair = node.items.find(({ key }) => String(key) === String(step))
        found = pair?.key ?? found
        node = pair?.value
      } else if (yaml.isSeq(node)) {
        node = node.items[Number(step)]
        found = node ?? found
      } else break
    }
    const offset = yaml.isNode(found) ? found.range?.[0] : undefined
    return offset === undefined ? undefined : lines.linePos(offset).line
  }
}
