import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import ts from '@typescript/typescript6'

/** The subject of a sentence is a component or a definite person: the operator, the caller, the model. */
const INDEFINITE_PERSON = /\b(nobody|somebody|someone|anybody|anyone|everybody|everyone|whoever|whomever|whatever)\b/i

/** American spelling, as the API has it. */
const BRITISH =
  /\b\w*(behaviour|colour|neighbour|honour|favour|organisation|(?:recogni|summari|seriali|normali|initiali|authori)s(?:e|ing|ation)|labelled|judgement|artefact|learnt)\w*\b/i

export type StyleFault = { line: number; fault: string }

/** What biome cannot see in a TypeScript file: the words of its comments, and object literals spread into object literals. */
export function styleFaults(text: string): StyleFault[] {
  const source = ts.createSourceFile('file.ts', text, ts.ScriptTarget.Latest, true)
  const lineAt = (position: number): number => source.getLineAndCharacterOfPosition(position).line + 1
  const faults = commentsOf(source).flatMap(({ pos, end }) => wordFaults(text.slice(pos, end), lineAt(pos)))
  const visit = (node: ts.Node): void => {
    if (ts.isSpreadAssignment(node) && hasLiteralBranch(node.expression))
      faults.push({
        line: lineAt(node.getStart()),
        fault: 'an object literal is spread into an object literal; write its fields, or use defined({ … })',
      })
    ts.forEachChild(node, visit)
  }
  visit(source)
  return faults
}

/** The words of a text; `first` is the number of its first line. */
export function wordFaults(text: string, first = 1): StyleFault[] {
  return text.split('\n').flatMap((line, index) => {
    const found = (pattern: RegExp, why: string): StyleFault[] => {
      const [word] = pattern.exec(line) ?? []
      return word === undefined ? [] : [{ line: first + index, fault: `"${word}": ${why}` }]
    }
    return [
      ...found(INDEFINITE_PERSON, 'name the component or the person'),
      ...found(BRITISH, 'use the American spelling'),
    ]
  })
}

/** Comments stand in front of tokens, or behind them on the same line. */
function commentsOf(source: ts.SourceFile): ts.CommentRange[] {
  const found = new Map<number, ts.CommentRange>()
  const visit = (node: ts.Node): void => {
    const ranges = [
      ...(ts.getLeadingCommentRanges(source.text, node.getFullStart()) ?? []),
      ...(ts.getTrailingCommentRanges(source.text, node.getEnd()) ?? []),
    ]
    for (const range of ranges) found.set(range.pos, range)
    for (const child of node.getChildren(source)) visit(child)
  }
  visit(source)
  return [...found.values()]
}

function hasLiteralBranch(expression: ts.Expression): boolean {
  if (ts.isParenthesizedExpression(expression)) return hasLiteralBranch(expression.expression)
  if (ts.isConditionalExpression(expression))
    return hasLiteralBranch(expression.whenTrue) || hasLiteralBranch(expression.whenFalse)
  if (ts.isBinaryExpression(expression)) return hasLiteralBranch(expression.right)
  return ts.isObjectLiteralExpression(expression)
}

/** Markdown without its code and quoted output, line by line. */
const proseOf = (text: string): string => {
  let isCode = false
  return text
    .split('\n')
    .map((line) => {
      if (line.startsWith('```')) isCode = !isCode
      return isCode ? '' : line.replaceAll(/`[^`]*`/g, '')
    })
    .join('\n')
}

function checkRepository(): void {
  const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '*.ts', '*.md'], { encoding: 'utf8' })
  let count = 0
  for (const file of files.split('\n').filter((name) => name !== '' && name !== 'check-style.ts')) {
    const text = readFileSync(file, 'utf8')
    for (const { line, fault } of file.endsWith('.md') ? wordFaults(proseOf(text)) : styleFaults(text)) {
      console.error(`${file}:${line}: ${fault}`)
      count += 1
    }
  }
  if (count === 0) return
  console.error(`${count} faults of style`)
  process.exitCode = 1
}

if (import.meta.main) checkRepository()
